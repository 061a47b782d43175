/// cadre-supervisor: starts and looks after the tasks of one agent, which starts it. Small on purpose: it is forked for
/// each task.
#include <sys/socket.h>
#include <sys/stat.h>

#include <cstdio>
#include <string_view>

#include "supervisor/forking/nursery_process.h"
#include "supervisor/forking/nursery_talk.h"

int main(int argc, char** argv) {
  using namespace cadre::supervisor;
  const std::string_view features = argc == 2 ? argv[1] : "";
  int type = 0;
  socklen_t size = sizeof(type);
  const bool asked = ::getsockopt(nursery_talk::nursery_socket, SOL_SOCKET, SO_TYPE, &type, &size) == 0;
  if (!asked || type != SOCK_SEQPACKET || (features != "auto" && features.size() != 3)) {
    std::fprintf(stderr, "cadre-supervisor is started by `cadre agent`; do not run it directly\n");
    return 2;
  }
  ::umask(077);
  if (features == "auto") run_nursery({});
  run_nursery(IsolationFeatures{features[0] == '1', features[1] == '1', features[2] == '1'});
}
