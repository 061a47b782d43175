#include "net/zmq/open_connections.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <optional>
#include <utility>

#include "loop/descriptor.h"

namespace cadre::net {
namespace {

/// Of a TCP socket.
std::optional<std::uint16_t> local_port(int fd) {
  sockaddr_storage at{};
  socklen_t size = sizeof at;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&at), &size) != 0) return std::nullopt;
  if (at.ss_family == AF_INET) return ntohs(reinterpret_cast<const sockaddr_in&>(at).sin_port);
  if (at.ss_family == AF_INET6) return ntohs(reinterpret_cast<const sockaddr_in6&>(at).sin6_port);
  return std::nullopt;
}

/// Of a socket; nothing when `fd` is none.
bool is_listener(int fd) {
  int listens = 0;
  socklen_t size = sizeof listens;
  return ::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 || listens != 0;
}

}  // namespace

void OpenConnections::accepted(int fd) {
  closed(fd);
  open_[fd].number = ++last_number_;
  unauthenticated_[last_number_] = fd;
}

void OpenConnections::closed(int fd) {
  const auto found = open_.find(fd);
  if (found == open_.end()) return;
  const auto& [number, key] = found->second;
  unauthenticated_.erase(number);
  if (const auto others = of_key_.find(key); others != of_key_.end()) {
    others->second.erase(number);
    if (others->second.empty()) of_key_.erase(others);
  }
  open_.erase(found);
}

void OpenConnections::authenticated(int fd, const PublicKey& key) {
  const auto found = open_.find(fd);
  if (found == open_.end() || unauthenticated_.erase(found->second.number) == 0 || key.empty()) return;
  found->second.key = key;
  std::map<std::uint64_t, int>& all = of_key_[key];
  all.emplace(found->second.number, fd);
  if (all.size() <= most_of_key) return;
  const int oldest = all.begin()->second;
  if (shut_down(oldest)) closed(oldest);
}

void OpenConnections::heard(int fd) {
  const auto found = open_.find(fd);
  if (found == open_.end() || found->second.number == last_number_) return;
  auto node = unauthenticated_.extract(found->second.number);
  if (node.empty()) return;
  node.key() = found->second.number = ++last_number_;
  unauthenticated_.insert(std::move(node));
}

void OpenConnections::make_room(std::size_t most) {
  while (open_.size() >= most && !unauthenticated_.empty()) {
    const int fd = unauthenticated_.begin()->second;
    if (!shut_down(fd)) return;  // no descriptor is free: it is tried again with the next connection
    closed(fd);
  }
}

bool OpenConnections::shut_down(int fd) const {
  // ZeroMQ's thread may close the descriptor at any time, and others use its number again. The copy cannot change.
  const loop::Descriptor copy(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
  if (!copy) return errno == EBADF;  // it is closed already
  const std::optional<std::uint16_t> port = local_port(copy.get());
  if (port && ports_.contains(*port) && !is_listener(copy.get())) ::shutdown(copy.get(), SHUT_RDWR);
  return true;
}

}  // namespace cadre::net
