#include "tests/servers/s3.h"

#include <signal.h>

#include <chrono>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <utility>

#include "tests/servers/listening.h"
#include "tests/servers/postgres.h"
#include "tests/servers/process.h"
#include "tests/servers/scratch.h"

namespace cadre::servers {

S3Server::S3Server(std::string folder, Tls tls) : folder_(std::move(folder)), tls_(std::move(tls)) {
  for (int attempt = 0; attempt < 3; ++attempt) {  // another may take the port first
    port_ = free_port();
    if (launch()) return;
  }
  throw std::runtime_error("the S3 server does not start (is build/node there? tools/run_tests makes it):\n" + log());
}

S3Server::~S3Server() { kill(); }

bool S3Server::launch() {
  const std::string source = CADRE_SOURCE_DIR;
  Command command{{"/usr/bin/env", "node", source + "/tests/servers/s3_server.js", folder_ + "/data",
                   std::to_string(port_), std::string(bucket()), std::string(access_key()), std::string(secret_key())},
                  "",
                  folder_ + "/log"};
  if (!tls_.key.empty()) command.arguments.insert(command.arguments.end(), {tls_.certificate, tls_.key});
  command.environment = {"NODE_PATH=" + source + "/build/node/node_modules"};
  pid_ = start_server(command, port_);
  return pid_ >= 0;
}

std::string S3Server::file_of(const std::string& key) const {
  return folder_ + "/data/" + std::string(bucket()) + "/" + key + "._S3rver_object";
}

void S3Server::kill() {
  if (pid_ >= 0) kill_tree(std::exchange(pid_, -1));
}

void S3Server::start_again() {
  kill();
  for (int attempt = 0; attempt < 20; ++attempt) {
    if (launch()) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  throw std::runtime_error("the S3 server does not start again:\n" + log());
}

void S3Server::stop() const { ::kill(pid_, SIGSTOP); }

void S3Server::go_on() const { ::kill(pid_, SIGCONT); }

std::string S3Server::log() const {
  std::ostringstream text;
  text << std::ifstream(folder_ + "/log").rdbuf();
  const std::string all = text.str();
  return all.substr(all.size() - std::min<std::size_t>(all.size(), 4'000));
}

S3Server& shared_s3() {
  static TempDir folder;
  static S3Server server(folder.path());
  return server;
}

}  // namespace cadre::servers
