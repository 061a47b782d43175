#include "tests/servers/redis.h"

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
namespace {

constexpr const char* program = "/usr/bin/redis-server";

}  // namespace

RedisServer::RedisServer(std::string folder, Tls tls) : folder_(std::move(folder)), tls_(std::move(tls)) {
  if (speaks_tls()) {
    std::ofstream(folder_ + "/users.acl")
        << "user default off\nuser cadre on >" << password()
        << " ~test* &test* -@all +eval +hmget +hset +get +set +del +pexpire +pttl"
           " +zadd +zrem +zrangebylex +hlen +persist +unlink +publish +subscribe +ping +select +time\n";
  }
  for (int attempt = 0; attempt < 3; ++attempt) {  // another may take the port first
    port_ = free_port();
    if (launch()) return;
  }
  throw std::runtime_error("Redis does not start:\n" + log());
}

RedisServer::~RedisServer() { kill(); }

std::string RedisServer::url_by(int port, std::string_view settings) const {
  const std::string place = "127.0.0.1:" + std::to_string(port) + "/0?" + std::string(settings);
  if (!speaks_tls()) return "redis://" + place;
  return "rediss://cadre:" + std::string(password()) + "@" + place + (settings.empty() ? "" : "&") + "ca=" + tls_.ca;
}

bool RedisServer::launch() {
  Command command{
      {program, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", folder_}, "", folder_ + "/log"};
  const std::string port = std::to_string(port_);
  if (speaks_tls()) {
    command.arguments.insert(
        command.arguments.end(),
        {"--port", "0", "--tls-port", port, "--tls-cert-file", tls_.certificate, "--tls-key-file", tls_.key,
         "--tls-ca-cert-file", tls_.ca, "--tls-auth-clients", "no", "--aclfile", folder_ + "/users.acl"});
  } else {
    command.arguments.insert(command.arguments.end(), {"--port", port});
  }
  pid_ = start_server(command, port_);
  return pid_ >= 0;
}

void RedisServer::kill() {
  if (pid_ >= 0) kill_tree(std::exchange(pid_, -1));
}

void RedisServer::start_again() {
  kill();
  for (int attempt = 0; attempt < 20; ++attempt) {
    if (launch()) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  throw std::runtime_error("Redis does not start again:\n" + log());
}

void RedisServer::stop() const { ::kill(pid_, SIGSTOP); }

void RedisServer::go_on() const { ::kill(pid_, SIGCONT); }

std::string RedisServer::log() const {
  std::ostringstream text;
  text << std::ifstream(folder_ + "/log").rdbuf();
  const std::string all = text.str();
  return all.substr(all.size() - std::min<std::size_t>(all.size(), 4'000));
}

RedisServer& shared_redis() {
  static TempDir folder;
  static RedisServer server(folder.path());
  return server;
}

}  // namespace cadre::servers
