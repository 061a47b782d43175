/// For tests: a Redis server in TLS with users, and the certificates that it needs. One thread at a time.
#pragma once

#include <string>

#include "net/http/certificates_for_tests.h"
#include "tests/servers/redis.h"
#include "tests/servers/scratch.h"

namespace cadre::net::redis {

class RedisInTls {
 public:
  using Certificate = net::http::CertificateForTests;

  RedisInTls() : server_(folder_.path(), write_files()) {}
  servers::RedisServer& server() { return server_; }
  /// Of somebody whom the server's certificate is not from.
  std::string stranger() const { return folder_.path() + "/stranger.pem"; }

 private:
  servers::RedisServer::Tls write_files() const {
    const Certificate root(Certificate::Kind::authority, "root");
    const Certificate stranger(Certificate::Kind::authority, "root");
    const Certificate server(Certificate::Kind::server, "server", &root, "IP:127.0.0.1");
    const std::string begin = folder_.path() + "/";
    root.write_to(begin + "ca.pem");
    stranger.write_to(begin + "stranger.pem");
    server.write_to(begin + "server.pem");
    server.write_key_to(begin + "key.pem");
    return {begin + "server.pem", begin + "key.pem", begin + "ca.pem"};
  }

  servers::TempDir folder_;
  servers::RedisServer server_;
};

/// One for the whole test program; it ends with it.
inline RedisInTls& shared_redis_in_tls() {
  static RedisInTls shared;
  return shared;
}

}  // namespace cadre::net::redis
