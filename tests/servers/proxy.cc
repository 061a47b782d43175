#include "tests/servers/proxy.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace cadre::servers {
namespace {

sockaddr_in address_of(const std::string& host, int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  inet_pton(AF_INET, host.c_str(), &address.sin_addr);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  return address;
}

bool send_all(int socket_fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(socket_fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

}  // namespace

Proxy::Proxy(int target_port, const std::string& host, int port) : target_port_(target_port) {
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  wake_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  sockaddr_in address = address_of(host, port);
  const int again = 1;
  setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &again, sizeof(again));
  socklen_t length = sizeof(address);
  if (bind(listener_, reinterpret_cast<sockaddr*>(&address), length) != 0 || listen(listener_, 16) != 0 ||
      getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &length) != 0) {
    throw std::runtime_error("the proxy cannot listen on loopback");
  }
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { run(); });
}

Proxy::~Proxy() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  eventfd_write(wake_, 1);
  thread_.join();
  for (Pair& pair : pairs_) close(pair);
  ::close(listener_);
  ::close(wake_);
}

void Proxy::spoil(Fault fault) {
  {
    const std::lock_guard lock(mutex_);
    for (Pair& pair : pairs_) spoil(pair, fault);
    all_silent_ = fault == Fault::silence;
  }
  eventfd_write(wake_, 1);
}

void Proxy::spoil_when_client_says(std::string word, Moment moment, Fault fault) {
  const std::lock_guard lock(mutex_);
  word_ = std::move(word);
  moment_ = moment;
  fault_ = fault;
}

void Proxy::heal() {
  const std::lock_guard lock(mutex_);
  all_silent_ = false;
}

void Proxy::run() {
  for (;;) {
    std::vector<pollfd> watched{{listener_, POLLIN, 0}, {wake_, POLLIN, 0}};
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) return;
      std::erase_if(pairs_, [](const Pair& pair) { return pair.client < 0; });
      for (const Pair& pair : pairs_) {
        const short events = pair.silent ? 0 : POLLIN;
        watched.push_back({pair.silent ? -1 : pair.client, events, 0});
        watched.push_back({pair.silent ? -1 : pair.server, events, 0});
      }
    }
    poll(watched.data(), watched.size(), -1);
    eventfd_t ignored = 0;
    eventfd_read(wake_, &ignored);
    const std::lock_guard lock(mutex_);
    for (std::size_t at = 2; at < watched.size(); ++at) {
      Pair& pair = pairs_[at / 2 - 1];
      if (watched[at].revents == 0 || pair.client < 0 || pair.silent) continue;
      const bool from_client = at % 2 == 0;
      move(pair, from_client ? pair.client : pair.server, from_client ? pair.server : pair.client);
    }
    if (watched[0].revents != 0) accept_one();
  }
}

void Proxy::accept_one() {
  Pair pair;
  pair.client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
  if (pair.client < 0) return;
  pair.silent = all_silent_;
  pair.server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = address_of("127.0.0.1", target_port_);
  if (connect(pair.server, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) return close(pair);
  pairs_.push_back(pair);
}

void Proxy::move(Pair& pair, int from, int to) {
  std::array<char, 64 * 1024> buffer;
  const ssize_t got = recv(from, buffer.data(), buffer.size(), 0);
  if (got <= 0) return close(pair);
  const std::string_view bytes(buffer.data(), static_cast<std::size_t>(got));
  if (from == pair.server && pair.waits_for_answer) return spoil(pair, fault_);
  if (from == pair.client && !word_.empty() && bytes.find(word_) != std::string_view::npos) {
    word_.clear();
    if (moment_ == Moment::before) return spoil(pair, fault_);
    pair.waits_for_answer = true;
  }
  if (!send_all(to, bytes)) close(pair);
}

void Proxy::spoil(Pair& pair, Fault fault) {
  if (fault == Fault::silence) {
    pair.silent = true;
    return;
  }
  const linger in_disorder{1, 0};
  setsockopt(pair.client, SOL_SOCKET, SO_LINGER, &in_disorder, sizeof(in_disorder));
  close(pair);
}

void Proxy::close(Pair& pair) {
  ::close(pair.client);
  ::close(pair.server);
  pair.client = pair.server = -1;
}

}  // namespace cadre::servers
