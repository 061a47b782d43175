/// For tests of the server: what is said to it byte by byte, and what it answers. One thread at a time.
#pragma once

#include <poll.h>
#include <sys/socket.h>

#include <memory>
#include <string>
#include <string_view>

#include "net/http/http_for_tests.h"
#include "net/raw_socket_test.h"

namespace cadre::net::http {

inline void hello(std::unique_ptr<Exchange> exchange) {
  exchange->answer(text("hello " + std::to_string(exchange->request().body.size())));
}

inline RawSocket connect(const ServerOnThread& server) {
  return RawSocket::connect_to("tcp://127.0.0.1:" + std::to_string(server.port()));
}

/// All that comes until the server ends it, or until it says nothing for a while.
inline std::string hear_all(const RawSocket& socket, int wait_ms = 20'000) {
  std::string all;
  while (true) {
    const std::string more = socket.hear(wait_ms);
    if (more.empty()) return all;
    all += more;
  }
}

inline std::string hear_until(const RawSocket& socket, std::string_view end) {
  std::string all;
  while (all.find(end) == std::string::npos) {
    const std::string more = socket.hear(20'000);
    if (more.empty()) break;
    all += more;
  }
  return all;
}

inline bool is_closed(const RawSocket& socket) {
  pollfd item{socket.fd(), POLLIN, 0};
  char byte = 0;
  return poll(&item, 1, 20'000) == 1 && recv(socket.fd(), &byte, 1, 0) <= 0;
}

inline Limits quick_limits() {
  Limits limits;
  limits.header_max = ByteSize{4'096};
  limits.header_wait = milliseconds(300);
  limits.body_wait = milliseconds(300);
  limits.write_wait = milliseconds(300);
  limits.idle_wait = milliseconds(300);
  return limits;
}

inline ServerOptions with(Limits limits) {
  ServerOptions options;
  options.limits = limits;
  options.body_max = [](Method, std::string_view target) { return ByteSize{target == "/large" ? 64 << 20 : 1'000}; };
  return options;
}

inline auto is_refusal(int status) {
  const std::string number = std::to_string(status);
  return testing::AllOf(
      testing::StartsWith("HTTP/1.1 " + number + " "), testing::HasSubstr("Content-Type: application/problem+json\r\n"),
      testing::HasSubstr("Connection: close\r\n"), testing::EndsWith("\"status\": " + number + "}\n"));
}

inline const std::string good = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
inline const std::string hello_0 = "\r\n\r\nhello 0";

}  // namespace cadre::net::http
