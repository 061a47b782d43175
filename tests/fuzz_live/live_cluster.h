/// A master and agents that are fuzzed, in a folder of their own. For the thread of the loop.
#pragma once

#include <signal.h>
#include <sys/wait.h>

#include <fstream>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "cluster/data_folder.h"
#include "loop/real_loop.h"
#include "tests/servers/process.h"
#include "tests/servers/scratch.h"

namespace cadre::fuzz_live {

[[noreturn]] inline void give_up(const std::string& why) { throw std::runtime_error(why); }

inline void run_for(loop::RealLoop& loop, Duration time) {
  static_cast<void>(loop.run_until(loop.now() + time, [] { return false; }));
}

struct Cluster {
  Cluster(std::string program_, std::string database_) : program(std::move(program_)), database(std::move(database_)) {
    std::ofstream(folder.path() + "/master.yaml") << "cluster: {pools: {default: {}, evil: {}}}\n";
    start_master();
  }
  ~Cluster() {
    for (const auto& [name, pid] : agents) servers::kill_tree(pid);
    if (master > 0) servers::kill_tree(master);
  }

  std::string data() const { return folder.path() + "/m"; }

  void start_master() {
    std::vector<std::string> arguments{program,           "master",
                                       "--data",          data(),
                                       "--port",          "0",
                                       "--listen",        "127.0.0.1:0",
                                       "--config",        folder.path() + "/master.yaml",
                                       "--agent-timeout", "5s"};
    if (!database.empty()) arguments.insert(arguments.end(), {"--database", database});
    master = servers::start({arguments, "", folder.path() + "/master.log"});
  }
  void start_agent(const std::string& name, std::vector<std::string> more) {
    std::vector<std::string> arguments{program, "agent", "--id", name, "--data", folder.path() + "/" + name};
    arguments.insert(arguments.end(), more.begin(), more.end());
    agents[name] = servers::start({arguments, "", folder.path() + "/" + name + ".log"});
  }
  bool is_master_alive() const { return ::kill(master, 0) == 0 && waitpid(master, nullptr, WNOHANG) == 0; }
  std::int64_t memory_kib() const {
    std::ifstream file("/proc/" + std::to_string(master) + "/status");
    for (std::string line; std::getline(file, line);) {
      if (line.starts_with("VmRSS:")) return std::stoll(line.substr(6));
    }
    return 0;
  }

  servers::TempDir folder;
  std::string program;
  std::string database;
  pid_t master = -1;
  std::map<std::string, pid_t> agents;
};

}  // namespace cadre::fuzz_live
