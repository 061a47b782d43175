/// A real Redis server for tests, on a free loopback port and with nothing on disk. When its program is missing it
/// throws std::runtime_error, so that tests fail and are not skipped. One thread at a time.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

namespace cadre::servers {

class RedisServer {
 public:
  /// Files that TLS needs; without them it speaks plainly and lets everybody in. With them it lets in only the user
  /// `cadre` with its password, limited to what names and objects need: keys and channels that begin with
  /// test.
  struct Tls {
    std::string certificate;
    std::string key;
    std::string ca;
  };

  explicit RedisServer(std::string folder) : RedisServer(std::move(folder), Tls()) {}
  RedisServer(std::string folder, Tls tls);
  RedisServer(const RedisServer&) = delete;
  RedisServer& operator=(const RedisServer&) = delete;
  ~RedisServer();

  int port() const { return port_; }
  /// With user, password and certificates, where there are any; `settings` as in ?name=value&name=value.
  std::string url(std::string_view settings = "") const { return url_by(port_, settings); }
  /// By way of another port, for instance a Proxy's.
  std::string url_by(int port, std::string_view settings = "") const;
  static std::string_view password() { return "to-be-kept-secret"; }

  /// It forgets everything.
  void kill();
  /// On the same port, empty.
  void start_again();
  /// It lives, but does nothing.
  void stop() const;
  void go_on() const;
  /// What it said last, for messages of failing tests.
  std::string log() const;

 private:
  bool launch();
  bool speaks_tls() const { return !tls_.certificate.empty(); }

  const std::string folder_;
  const Tls tls_;
  int port_ = 0;
  pid_t pid_ = -1;
};

/// One for the whole test program; it ends with it.
RedisServer& shared_redis();

}  // namespace cadre::servers
