#include "tests/servers/webhdfs.h"

#include <signal.h>

#include <fstream>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "tests/servers/listening.h"
#include "tests/servers/postgres.h"
#include "tests/servers/process.h"
#include "tests/servers/scratch.h"

namespace cadre::servers {

WebhdfsStub::WebhdfsStub(std::string folder, std::int64_t capacity_bytes) : folder_(std::move(folder)) {
  for (int attempt = 0; attempt < 3; ++attempt) {  // another may take a port first
    port_ = free_port();
    data_port_ = free_port();
    const Command command{{"/usr/bin/python3", CADRE_SOURCE_DIR "/tests/servers/webhdfs_stub.py", std::to_string(port_),
                           std::to_string(data_port_), std::to_string(capacity_bytes)},
                          "",
                          folder_ + "/log"};
    pid_ = start_server(command, port_);
    if (pid_ >= 0) return;
  }
  throw std::runtime_error("the stub of WebHDFS does not start:\n" + log());
}

WebhdfsStub::~WebhdfsStub() { kill_tree(pid_); }

void WebhdfsStub::stop() const { ::kill(pid_, SIGSTOP); }

void WebhdfsStub::go_on() const { ::kill(pid_, SIGCONT); }

std::string WebhdfsStub::log() const {
  std::ostringstream text;
  text << std::ifstream(folder_ + "/log").rdbuf();
  return text.str();
}

WebhdfsStub& shared_webhdfs() {
  static TempDir folder;
  static WebhdfsStub server(folder.path());
  return server;
}

}  // namespace cadre::servers
