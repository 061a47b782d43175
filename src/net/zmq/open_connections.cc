#include "net/zmq/open_connections.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>

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
  open_[fd] = ++last_number_;
  unauthenticated_[last_number_] = fd;
}

void OpenConnections::closed(int fd) {
  const auto found = open_.find(fd);
  if (found == open_.end()) return;
  unauthenticated_.erase(found->second);
  open_.erase(found);
}

void OpenConnections::authenticated(int fd) {
  if (const auto found = open_.find(fd); found != open_.end()) unauthenticated_.erase(found->second);
}

void OpenConnections::heard(int fd) {
  const auto found = open_.find(fd);
  if (found == open_.end() || found->second == last_number_) return;
  auto node = unauthenticated_.extract(found->second);
  if (node.empty()) return;
  node.key() = found->second = ++last_number_;
  unauthenticated_.insert(std::move(node));
}

void OpenConnections::make_room(std::size_t most) {
  while (open_.size() >= most && !unauthenticated_.empty()) {
    const int fd = unauthenticated_.begin()->second;
    closed(fd);
    shut_down(fd);
  }
}

void OpenConnections::shut_down(int fd) const {
  // ZeroMQ's thread may close the descriptor at any time, and others use its number again. The copy cannot change.
  const loop::Descriptor copy(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
  if (!copy) return;
  const std::optional<std::uint16_t> port = local_port(copy.get());
  if (port && ports_.contains(*port) && !is_listener(copy.get())) ::shutdown(copy.get(), SHUT_RDWR);
}

}  // namespace cadre::net
