/// A real S3 server for tests, s3rver from npm, on a free loopback port: it verifies signatures, but neither the hashes
/// of bodies nor If-None-Match, and lists neither unfinished uploads nor aborts them. When it is missing it throws
/// std::runtime_error, so that tests fail and are not skipped. One thread at a time.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

namespace cadre::servers {

class S3Server {
 public:
  /// Of a server that speaks TLS.
  struct Tls {
    std::string certificate;
    std::string key;
  };

  /// Keeps its objects in a folder, which outlives it.
  explicit S3Server(std::string folder) : S3Server(std::move(folder), Tls()) {}
  S3Server(std::string folder, Tls tls);
  S3Server(const S3Server&) = delete;
  S3Server& operator=(const S3Server&) = delete;
  ~S3Server();

  int port() const { return port_; }
  std::string url() const {
    return (tls_.key.empty() ? "http://127.0.0.1:" : "https://127.0.0.1:") + std::to_string(port_);
  }
  static std::string_view bucket() { return "test-bucket"; }
  static std::string_view access_key() { return "AKIDTESTS"; }
  static std::string_view secret_key() { return "to/be+kept=secret"; }
  /// Where it keeps the content of an object.
  std::string file_of(const std::string& key) const;

  void kill();
  /// On the same port, with the same objects.
  void start_again();
  /// It lives, but does nothing.
  void stop() const;
  void go_on() const;
  std::string log() const;

 private:
  bool launch();

  const std::string folder_;
  const Tls tls_;
  int port_ = 0;
  pid_t pid_ = -1;
};

/// One for the whole test program; it ends with it.
S3Server& shared_s3();

}  // namespace cadre::servers
