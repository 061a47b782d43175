/// WebHDFS for tests, on free loopback ports. This is a stub: neither Debian nor npm has a server. It has the two steps
/// of the real protocol, a name node that redirects to a data node, permissions and errors in the words of HDFS, and
/// keeps everything in memory. One thread at a time.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

namespace cadre::servers {

class WebhdfsStub {
 public:
  /// `capacity_bytes` of all files together.
  explicit WebhdfsStub(std::string folder, std::int64_t capacity_bytes = std::int64_t{1} << 40);
  WebhdfsStub(const WebhdfsStub&) = delete;
  WebhdfsStub& operator=(const WebhdfsStub&) = delete;
  ~WebhdfsStub();

  int port() const { return port_; }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  /// Of the node that has the bytes.
  int data_port() const { return data_port_; }
  /// An existing folder, which belongs to user().
  static std::string_view path() { return "/stores"; }
  static std::string_view user() { return "cadre"; }

  void stop() const;
  void go_on() const;
  std::string log() const;

 private:
  const std::string folder_;
  int port_ = 0;
  int data_port_ = 0;
  pid_t pid_ = -1;
};

/// One for the whole test program; it ends with it.
WebhdfsStub& shared_webhdfs();

}  // namespace cadre::servers
