#include "tests/servers/master.h"

#include <signal.h>
#include <sys/wait.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <thread>
#include <utility>

#include "tests/servers/postgres.h"

namespace cadre::servers {
namespace {

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

MasterServer::MasterServer(Setup setup)
    : setup_(std::move(setup)), database_(uses_postgres() ? make_postgres_schema() : ""), port_(free_port()) {
  launch();
}

MasterServer::~MasterServer() { kill(); }

/// It writes how it is reached when it can be.
void MasterServer::launch() {
  const std::string client = data() + "/client.json";
  std::error_code ignored;
  const auto before = std::filesystem::last_write_time(client, ignored);
  std::vector<std::string> arguments{setup_.program,   "master", "--data",
                                     data(),           "--http", setup_.host + ":" + std::to_string(port_),
                                     "--insecure-http"};
  arguments.insert(arguments.end(), setup_.arguments.begin(), setup_.arguments.end());
  if (!database_.empty()) arguments.insert(arguments.end(), {"--database", database_});
  pid_ = start({arguments, "", setup_.folder + "/log", SIGKILL, {}, setup_.fork});
  for (int waited = 0; waited < 6'000; ++waited) {
    std::error_code missing;
    const auto written = std::filesystem::last_write_time(client, missing);
    if (!missing && (ignored || written != before)) return;
    if (waitpid(pid_, nullptr, WNOHANG) == pid_) {
      pid_ = -1;
      break;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  kill();
  throw std::runtime_error("the master does not start:\n" + text_of(setup_.folder + "/log"));
}

std::string MasterServer::token() const {
  const std::string known = text_of(data() + "/client.json");
  const std::string before = "\"token\":\"";
  const std::size_t begin = known.find(before) + before.size();
  return known.substr(begin, known.find('"', begin) - begin);
}

void MasterServer::kill() {
  if (pid_ >= 0) kill_tree(std::exchange(pid_, -1));
}

void MasterServer::start_again() {
  kill();
  launch();
}

void MasterServer::stop() const {
  ::kill(pid_, SIGSTOP);
  waitpid(pid_, nullptr, WUNTRACED);  // until all its threads have
}

void MasterServer::go_on() const { ::kill(pid_, SIGCONT); }

}  // namespace cadre::servers
