#include "tests/servers/postgres.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pwd.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <utility>

#include "tests/servers/process.h"
#include "tests/servers/scratch.h"

namespace cadre::servers {
namespace {

constexpr const char* user = "postgres";  // the server refuses to be root

std::string binary(const std::string& name) {
  const char* folder = std::getenv("CADRE_POSTGRES_BIN");
  return std::string(folder != nullptr ? folder : "/usr/lib/postgresql/15/bin") + "/" + name;
}

}  // namespace

void give_to_server(const std::string& path) {
  if (geteuid() != 0) return;
  const passwd* entry = getpwnam(user);
  if (entry == nullptr || chown(path.c_str(), entry->pw_uid, entry->pw_gid) != 0) {
    throw std::runtime_error("cannot give " + path + " to the user postgres");
  }
}

namespace {

std::string read_text(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

}  // namespace

int free_port() {
  const int socket_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  const bool bound = bind(socket_fd, reinterpret_cast<sockaddr*>(&address), length) == 0 &&
                     getsockname(socket_fd, reinterpret_cast<sockaddr*>(&address), &length) == 0;
  close(socket_fd);
  if (!bound) throw std::runtime_error("no free port on loopback");
  return ntohs(address.sin_port);
}

PostgresServer::PostgresServer(Setup setup) : setup_(std::move(setup)) {
  make_cluster();
  for (int attempt = 0; attempt < 3; ++attempt) {  // another may take the port first
    port_ = free_port();
    if (launch()) return;
  }
  throw std::runtime_error("PostgreSQL does not start:\n" + log());
}

PostgresServer::~PostgresServer() {
  if (pid_ < 0) return;
  ::kill(pid_, SIGQUIT);
  wait_for(pid_);
}

std::string PostgresServer::url_by(int port, std::string_view options) const {
  return "postgresql://cadre:" + std::string(password()) + "@127.0.0.1:" + std::to_string(port) +
         "/postgres?sslmode=disable&" + std::string(options);
}

void PostgresServer::make_cluster() {
  give_to_server(setup_.folder);
  const std::string secret = setup_.folder + "/password";
  std::ofstream(secret) << password() << "\n";
  give_to_server(secret);
  Command command{{binary("initdb"), "-D", data(), "-U", "cadre", "-A", "scram-sha-256", "--pwfile=" + secret, "-E",
                   "UTF8", "--locale=C", "--no-sync"},
                  user,
                  setup_.folder + "/log"};
  if (!setup_.log_folder.empty()) {
    give_to_server(setup_.log_folder);
    command.arguments.insert(command.arguments.end(), {"--wal-segsize=1", "--waldir=" + setup_.log_folder});
  }
  if (run(command) != 0) throw std::runtime_error("initdb failed:\n" + log());
}

bool PostgresServer::launch() {
  // fsync guards against the loss of power, not of processes; shared memory in files, so that none is left behind
  std::vector<std::string> settings{
      "listen_addresses=127.0.0.1", "fsync=off",          "dynamic_shared_memory_type=mmap",
      "shared_buffers=16MB",        "max_connections=40", "restart_after_crash=on"};
  settings.insert(settings.end(), setup_.settings.begin(), setup_.settings.end());
  Command command{{binary("postgres"), "-D", data(), "-p", std::to_string(port_), "-k", setup_.folder},
                  user,
                  setup_.folder + "/log",
                  SIGQUIT};
  for (const std::string& setting : settings) command.arguments.insert(command.arguments.end(), {"-c", setting});
  const std::string status = data() + "/postmaster.pid";
  pid_ = start(command);
  for (int waited = 0; waited < 3'000; ++waited) {
    const std::string text = read_text(status);
    if (text.starts_with(std::to_string(pid_) + "\n") && text.find("\nready") != std::string::npos) return true;
    if (waitpid(pid_, nullptr, WNOHANG) == pid_) {
      pid_ = -1;
      return false;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  kill();
  return false;
}

void PostgresServer::kill() {
  if (pid_ >= 0) kill_tree(std::exchange(pid_, -1));
}

bool PostgresServer::start_again() {
  if (pid_ >= 0) {
    ::kill(pid_, SIGQUIT);
    wait_for(std::exchange(pid_, -1));
  }
  for (int attempt = 0; attempt < 20; ++attempt) {  // processes of the last one may still be ending
    if (launch()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  return false;
}

std::string PostgresServer::log() const {
  const std::string text = read_text(setup_.folder + "/log");
  return text.substr(text.size() - std::min<std::size_t>(text.size(), 4'000));
}

PostgresServer& shared_postgres() {
  static TempDir folder;
  static PostgresServer server({folder.path(), "", {}});
  return server;
}

bool uses_postgres() {
  const char* engine = std::getenv("CADRE_TEST_ENGINE");
  return engine != nullptr && std::string_view(engine) == "postgresql";
}

std::string make_postgres_schema() {
  static int made = 0;
  const std::string schema = "test" + std::to_string(++made);
  PostgresServer& server = shared_postgres();
  if (run({{binary("psql"), "--quiet", server.url(), "-c", "CREATE SCHEMA " + schema}, "", ""}) != 0) {
    throw std::runtime_error("the schema " + schema + " cannot be made");
  }
  return server.url("options=-csearch_path%3D" + schema);
}

}  // namespace cadre::servers
