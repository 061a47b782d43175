/// For the tests of this room: plays the supervisor of a task at a socket. One thread at a time.
#pragma once

#include <gmock/gmock.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "cluster/supervision.h"
#include "describe/describe.h"

namespace cadre::core {

namespace messages = cluster::supervision;

constexpr int patience_ms = 10'000;

/// One process that has connected.
class Caller {
 public:
  explicit Caller(int fd) : fd_(fd) {}
  Caller(Caller&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  ~Caller() { hang_up(); }

  void hang_up() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }
  bool has_news(int wait_ms) const {
    pollfd entry{fd_, POLLIN, 0};
    return poll(&entry, 1, wait_ms) == 1;
  }
  /// Waits for the next message; nothing when it hangs up.
  std::optional<messages::FromTask> hear() const {
    Bytes packet(messages::packet_bytes_max);
    if (!has_news(patience_ms)) return std::nullopt;
    const ssize_t size = recv(fd_, packet.data(), packet.size(), 0);
    if (size <= 0) return std::nullopt;
    packet.resize(static_cast<std::size_t>(size));
    return describe::read_msgpack<messages::FromTask>(packet).value();
  }
  /// Whether the next message is one of these.
  template <class Message>
  std::optional<Message> hear_a() const {
    const auto message = hear();
    if (!message || !std::holds_alternative<Message>(*message)) return std::nullopt;
    return std::get<Message>(*message);
  }
  void say_bytes(BytesView packet) const {
    EXPECT_EQ(send(fd_, packet.data(), packet.size(), MSG_NOSIGNAL), packet.size());
  }
  void say(const messages::ToTask& message) const { say_bytes(describe::write_msgpack(message)); }

 private:
  int fd_;
};

class FakeSupervisor {
 public:
  explicit FakeSupervisor(const std::string& path) : fd_(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
    unlink(path.c_str());
    EXPECT_EQ(bind(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0) << path;
    EXPECT_EQ(listen(fd_, 64), 0);
  }
  FakeSupervisor(const FakeSupervisor&) = delete;
  FakeSupervisor& operator=(const FakeSupervisor&) = delete;
  ~FakeSupervisor() { close(fd_); }

  bool is_called(int wait_ms) const {
    pollfd entry{fd_, POLLIN, 0};
    return poll(&entry, 1, wait_ms) == 1;
  }
  Caller answer_call() const {
    EXPECT_TRUE(is_called(patience_ms));
    return Caller(accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC));
  }
  /// Takes a call and its Attach.
  Caller answer_attach() const {
    Caller caller = answer_call();
    EXPECT_TRUE(caller.hear_a<messages::Attach>());
    return caller;
  }

 private:
  int fd_;
};

}  // namespace cadre::core
