/// For the tests of this module: plain sockets that send malformed messages to a hub. One thread at a time.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "net/address.h"

namespace cadre::net {

class RawSocket {
 public:
  explicit RawSocket(int fd) : fd_(fd) {
    if (fd_ < 0) throw std::runtime_error(std::string("a raw socket: ") + std::strerror(errno));
  }
  RawSocket(RawSocket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  RawSocket& operator=(RawSocket&&) = delete;
  ~RawSocket() {
    if (fd_ >= 0) close(fd_);
  }
  int fd() const { return fd_; }

  static RawSocket connect_to(const std::string& address) {
    const Address parsed = parse_address(address).value();
    const bool tcp = std::holds_alternative<TcpAddress>(parsed);
    RawSocket made(socket(tcp ? AF_INET : AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    int problem = 0;
    if (tcp) {
      const sockaddr_in to = loopback(std::get<TcpAddress>(parsed).port);
      problem = connect(made.fd_, reinterpret_cast<const sockaddr*>(&to), sizeof to);
    } else {
      sockaddr_un to{};
      to.sun_family = AF_UNIX;
      std::get<UnixAddress>(parsed).path.copy(to.sun_path, sizeof to.sun_path - 1);
      problem = connect(made.fd_, reinterpret_cast<const sockaddr*>(&to), sizeof to);
    }
    if (problem != 0) throw std::runtime_error("cannot connect to " + address + ": " + std::strerror(errno));
    return made;
  }

  /// Listens on loopback; port 0 is any.
  static RawSocket listen_on(std::uint16_t port) {
    RawSocket made(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const int on = 1;
    setsockopt(made.fd_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    const sockaddr_in at = loopback(port);
    if (bind(made.fd_, reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0 || listen(made.fd_, 16) != 0) {
      throw std::runtime_error(std::string("cannot listen: ") + std::strerror(errno));
    }
    return made;
  }

  /// Free now, and of those that the system gives to nobody by itself.
  static std::uint16_t free_port() {
    for (int tried = 0; tried < 1'000; ++tried) {
      try {
        return listen_on(static_cast<std::uint16_t>(10'000 + (getpid() * 31 + tried * 7) % 20'000)).port();
      } catch (const std::runtime_error&) {
      }
    }
    throw std::runtime_error("no free port");
  }

  RawSocket accept_one() const { return RawSocket(accept(fd_, nullptr, nullptr)); }

  std::uint16_t port() const {
    sockaddr_in at{};
    socklen_t size = sizeof at;
    getsockname(fd_, reinterpret_cast<sockaddr*>(&at), &size);
    return ntohs(at.sin_port);
  }

  void say(std::string_view text) const {
    while (!text.empty()) {
      const ssize_t size = send(fd_, text.data(), text.size(), MSG_NOSIGNAL);
      if (size <= 0) return;  // it was cut off: that is what strangers must expect
      text.remove_prefix(static_cast<std::size_t>(size));
    }
  }

  /// Some bytes, or none within the time or at the end.
  std::string hear(int wait_ms) const {
    pollfd item{fd_, POLLIN, 0};
    if (poll(&item, 1, wait_ms) <= 0) return "";
    std::string text(64 * 1024, '\0');
    const ssize_t size = recv(fd_, text.data(), text.size(), 0);
    text.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
    return text;
  }

 private:
  static sockaddr_in loopback(std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
  }
  int fd_;
};

/// Passes one connection on to an address and keeps what the client said, on a thread of its own.
class Recorder {
 public:
  explicit Recorder(std::string target) : target_(std::move(target)), thread_([this] { run(); }) {}
  std::string address() const { return "tcp://127.0.0.1:" + std::to_string(listener_.port()); }
  /// Once the client has closed its end.
  const std::string& recorded() {
    thread_.join();
    return recorded_;
  }

 private:
  void run() {
    const RawSocket client = listener_.accept_one();
    const RawSocket server = RawSocket::connect_to(target_);
    while (true) {
      pollfd items[] = {{client.fd(), POLLIN, 0}, {server.fd(), POLLIN, 0}};
      poll(items, 2, -1);
      if (items[0].revents != 0) {
        const std::string said = client.hear(0);
        if (said.empty()) return;
        recorded_ += said;
        server.say(said);
      }
      if (items[1].revents != 0) {
        const std::string said = server.hear(0);
        if (said.empty()) return;
        client.say(said);
      }
    }
  }

  const RawSocket listener_ = RawSocket::listen_on(0);
  const std::string target_;
  std::string recorded_;
  std::jthread thread_;
};

}  // namespace cadre::net
