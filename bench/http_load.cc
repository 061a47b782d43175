#include "bench/http_load.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>

#include "loop/descriptor.h"

namespace cadre::bench {
namespace {

using Clock = std::chrono::steady_clock;

Result<int> connect_to(std::uint16_t port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return loop::system_failure("socket");
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int on = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    const Failure failure = loop::system_failure("connect");
    ::close(socket);
    return failure;
  }
  return socket;
}

struct Talk {
  int socket = -1;
  std::string got;
  Clock::time_point asked;
};

/// Whether a whole answer is there.
bool is_whole(const std::string& got) {
  const std::size_t end = got.find("\r\n\r\n");
  if (end == std::string::npos) return false;
  const std::size_t length = got.find("Content-Length: ");
  if (length == std::string::npos || length > end) return false;
  return got.size() >= end + 4 + std::strtoul(got.c_str() + length + 16, nullptr, 10);
}

}  // namespace

Result<LoadResult> run_load(const Load& load) {
  const loop::Descriptor poll(::epoll_create1(EPOLL_CLOEXEC));
  std::vector<Talk> talks(static_cast<std::size_t>(load.connections));
  std::vector<loop::Descriptor> sockets;
  const auto ask = [&](Talk& talk) {
    talk.asked = Clock::now();
    return ::send(talk.socket, load.request.data(), load.request.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(load.request.size());
  };
  for (Talk& talk : talks) {
    TRY_ASSIGN(socket, connect_to(load.port));
    sockets.emplace_back(socket);
    talk.socket = socket;
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.ptr = &talk;
    ::epoll_ctl(poll.get(), EPOLL_CTL_ADD, socket, &event);
  }
  std::vector<double> times;
  const auto begin = Clock::now();
  const auto end = begin + load.time;
  for (Talk& talk : talks) {
    if (!ask(talk)) return fail(Errc::unavailable, "the server does not listen");
  }
  std::array<epoll_event, 64> events{};
  std::array<char, 65'536> piece{};
  while (Clock::now() < end) {
    const int count = ::epoll_wait(poll.get(), events.data(), static_cast<int>(events.size()), 1'000);
    for (int i = 0; i < count; ++i) {
      Talk& talk = *static_cast<Talk*>(events[static_cast<std::size_t>(i)].data.ptr);
      const ssize_t size = ::recv(talk.socket, piece.data(), piece.size(), 0);
      if (size <= 0) return fail(Errc::unavailable, "the server has closed a connection");
      talk.got.append(piece.data(), static_cast<std::size_t>(size));
      if (!is_whole(talk.got)) continue;
      if (!talk.got.starts_with("HTTP/1.1 200")) return fail(Errc::unavailable, talk.got);
      talk.got.clear();
      times.push_back(std::chrono::duration<double, std::milli>(Clock::now() - talk.asked).count());
      if (!ask(talk)) return fail(Errc::unavailable, "the server has closed a connection");
    }
  }
  const double passed = std::chrono::duration<double>(Clock::now() - begin).count();
  if (times.empty()) return fail(Errc::timed_out, "nothing was answered");
  std::sort(times.begin(), times.end());
  return LoadResult{static_cast<double>(times.size()) / passed, times[times.size() / 2],
                    times[times.size() * 99 / 100]};
}

Result<IdleConnections> IdleConnections::open(std::uint16_t port, int count) {
  IdleConnections all;
  for (int i = 0; i < count; ++i) {
    TRY_ASSIGN(socket, connect_to(port));
    all.sockets_.push_back(socket);
  }
  return all;
}

IdleConnections::~IdleConnections() {
  for (const int socket : sockets_) ::close(socket);
}

}  // namespace cadre::bench
