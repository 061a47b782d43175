// Puts names, waits for them and watches them. In three shells, in any order:
//
//     names file:///tmp/names watch demo
//     names file:///tmp/names wait demo/server
//     names file:///tmp/names put demo/server tcp://10.0.0.1:7000
//
// An empty URL is the master; in a job it needs nothing else: cadre run -- "$PWD/names" "" wait demo/server. The same
// works with examples/names/names.py in the place of any. Built with
//     L=$PWD/build/release/src/client
//     c++ -std=c++20 -Iinclude examples/names/names.cc -L$L -lcadre -Wl,-rpath,$L -o names
#include <cadre/names.h>

#include <cstdio>
#include <string>

int main(int argc, char** argv) {
  const std::string command = argc > 3 ? argv[2] : "";
  if (command == "put" ? argc != 5 : argc != 4) {
    return std::fprintf(stderr, "usage: names URL put KEY VALUE | wait KEY | watch PREFIX\n"), 2;
  }
  cadre::Names names(argv[1]);
  try {
    if (command == "put") {
      names.put(argv[3], argv[4]).value();
      while (std::getchar() != EOF) continue;  // as long as this runs, the name is there
    } else if (command == "wait") {
      std::printf("%s\n", names.wait(argv[3], std::chrono::seconds(60)).value().value.c_str());
    } else {
      cadre::Names::Watch watch = names.watch(argv[3]).value();
      for (;;) {
        const cadre::Outcome<cadre::Names::Change> change = watch.next();
        if (!change && change.reason().code == cadre::Reason::Code::timed_out) continue;
        const cadre::Names::Entry& entry = change.value().entry;
        const bool is_gone = change->kind == cadre::Names::Change::Kind::gone;
        std::printf(is_gone ? "%s is gone\n" : "%s is %s\n", entry.key.c_str(), entry.value.c_str());
        std::fflush(stdout);
      }
    }
  } catch (const cadre::OutcomeError& error) {
    return std::fprintf(stderr, "names: %s\n", error.what()), 1;
  }
}
