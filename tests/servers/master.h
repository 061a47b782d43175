/// A real master for tests, on a free loopback port, with the database that this run of the tests wants (postgres.h).
/// When it does not start this throws std::runtime_error. One thread at a time.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "tests/servers/process.h"

namespace cadre::servers {

class MasterServer {
 public:
  struct Setup {
    std::string program;                   ///< cadre
    std::string folder;                    ///< for its data, and what it says
    std::vector<std::string> arguments{};  ///< further ones
    std::string host = "127.0.0.1";        ///< the address of its gateway
    Fork fork{};                           ///< for one on a host (hosts.h); empty: here
  };
  explicit MasterServer(Setup setup);
  MasterServer(const MasterServer&) = delete;
  MasterServer& operator=(const MasterServer&) = delete;
  ~MasterServer();

  int port() const { return port_; }
  /// Of an admin of the cluster.
  std::string token() const;
  std::string data() const { return setup_.folder + "/data"; }

  void kill();
  /// With the same data, on the same port.
  void start_again();
  /// It lives, but does nothing.
  void stop() const;
  void go_on() const;

 private:
  void launch();

  const Setup setup_;
  const std::string database_;  // empty: its own
  int port_ = 0;
  pid_t pid_ = -1;
};

}  // namespace cadre::servers
