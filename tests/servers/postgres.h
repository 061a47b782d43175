/// A real PostgreSQL server for tests, on a free loopback port. It needs the binaries of PostgreSQL 15; when they are
/// missing it throws std::runtime_error, so that tests fail and are not skipped. One thread at a time.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

namespace cadre::servers {

class PostgresServer {
 public:
  struct Setup {
    std::string folder;                 ///< for data and log; exists, and is empty
    std::string log_folder;             ///< for the write-ahead log, in files of 1 MB; empty: with the data
    std::vector<std::string> settings;  ///< more of `name=value`
  };

  explicit PostgresServer(Setup setup);
  PostgresServer(const PostgresServer&) = delete;
  PostgresServer& operator=(const PostgresServer&) = delete;
  ~PostgresServer();

  int port() const { return port_; }
  /// With user and password; `options` as in ?name=value&name=value.
  std::string url(std::string_view options = "") const { return url_by(port_, options); }
  /// By way of another port, for instance a Proxy's.
  std::string url_by(int port, std::string_view options = "") const;
  static std::string_view password() { return "to-be-kept-secret"; }

  /// As a power cut would, but for what the kernel has in memory.
  void kill();
  /// On the same port, after kill() or a crash; returns when it has recovered. False when it could not.
  bool start_again();
  /// What it said last, for messages of failing tests.
  std::string log() const;

 private:
  std::string data() const { return setup_.folder + "/data"; }
  void make_cluster();
  bool launch();

  Setup setup_;
  int port_ = 0;
  pid_t pid_ = -1;
};

/// One for the whole test program; it ends with it.
PostgresServer& shared_postgres();

/// Whether this run of the tests is one with PostgreSQL in place of SQLite: CADRE_TEST_ENGINE=postgresql.
bool uses_postgres();

/// The URL of an empty schema of its own on the shared server.
std::string make_postgres_schema();

/// Makes the user that servers run as the owner of a file or folder, when the tests run as root.
void give_to_server(const std::string& path);

/// A loopback port that nobody listens on at this moment.
int free_port();

}  // namespace cadre::servers
