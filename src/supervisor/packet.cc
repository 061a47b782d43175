#include "supervisor/packet.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>

namespace cadre::supervisor {

Result<Descriptor> listen_here(const std::string& name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (name.size() >= sizeof(address.sun_path)) return fail(Errc::invalid, name + ": too long for a socket");
  std::memcpy(address.sun_path, name.data(), name.size());
  Descriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return system_failure(name);
  ::unlink(name.c_str());
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
      ::listen(socket.get(), 128) != 0) {
    return system_failure(name);
  }
  return socket;
}

Descriptor accept_one(int listener) {
  return Descriptor(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
}

namespace {

std::optional<ucred> credentials_of(int fd) {
  ucred credentials{};
  socklen_t size = sizeof(credentials);
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) return std::nullopt;
  return credentials;
}

}  // namespace

bool is_of_own_user(int fd) {
  const auto credentials = credentials_of(fd);
  return credentials && (credentials->uid == ::geteuid() || credentials->uid == 0);
}

pid_t peer_of(int fd) {
  const auto credentials = credentials_of(fd);
  return credentials ? credentials->pid : 0;
}

Sent send_packet(int fd, BytesView packet) {
  for (;;) {
    if (::send(fd, packet.data(), packet.size(), MSG_DONTWAIT | MSG_NOSIGNAL) >= 0) return Sent::yes;
    if (errno == EINTR) continue;
    return errno == EAGAIN || errno == ENOBUFS ? Sent::later : Sent::never;
  }
}

Received receive_packet(int fd, std::span<std::byte> buffer) {
  using Kind = Received::Kind;
  for (int resets = 0;;) {
    const ssize_t got = ::recv(fd, buffer.data(), buffer.size(), MSG_DONTWAIT | MSG_TRUNC);
    if (got < 0 && errno == EINTR) continue;
    // Who closes without having read all is reported before the last words it has sent.
    if (got < 0 && errno == ECONNRESET && ++resets == 1) continue;
    if (got < 0) return {errno == EAGAIN ? Kind::nothing : Kind::closed, {}};
    if (got == 0) return {Kind::closed, {}};  // an empty packet looks the same and is no message of ours
    if (static_cast<std::size_t>(got) > buffer.size()) return {Kind::too_long, {}};
    return {Kind::packet, buffer.first(static_cast<std::size_t>(got))};
  }
}

}  // namespace cadre::supervisor
