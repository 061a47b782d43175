#include "net/pipe/sockets.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/un.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace cadre::net {
namespace {

constexpr std::size_t pieces_max = 64;

}  // namespace

Result<SocketAddress> socket_address(const PipeAddress& from) {
  SocketAddress to;
  if (!from.name.empty()) {
    auto& address = reinterpret_cast<sockaddr_un&>(to.storage);
    if (from.name.size() + 1 > sizeof address.sun_path)
      return fail(Errc::invalid, "the name of the socket is too long");
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path + 1, from.name.data(), from.name.size());  // the first byte is 0: no file
    to.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + from.name.size());
    return to;
  }
  auto& four = reinterpret_cast<sockaddr_in&>(to.storage);
  auto& six = reinterpret_cast<sockaddr_in6&>(to.storage);
  if (inet_pton(AF_INET, from.host.c_str(), &four.sin_addr) == 1) {
    four.sin_family = AF_INET;
    four.sin_port = htons(from.port);
    to.size = sizeof four;
  } else if (inet_pton(AF_INET6, from.host.c_str(), &six.sin6_addr) == 1) {
    six.sin6_family = AF_INET6;
    six.sin6_port = htons(from.port);
    to.size = sizeof six;
  } else {
    return fail(Errc::invalid, from.host + " is not a numeric address");
  }
  return to;
}

void set_tcp_options(int socket) {
  const auto set = [socket](int level, int option, int value) {
    ::setsockopt(socket, level, option, &value, sizeof value);
  };
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 2);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 1);
  set(IPPROTO_TCP, TCP_KEEPCNT, 3);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, 5'000);  // milliseconds
}

Result<loop::Descriptor> make_socket(int family) {
  loop::Descriptor made(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!made) return loop::system_failure("socket");
  if (family != AF_UNIX) set_tcp_options(made.get());
  return made;
}

ssize_t send_once(int socket, std::span<const BytesView> pieces, std::span<const int> files) {
  std::array<iovec, pieces_max> vectors;
  std::size_t count = 0;
  for (const BytesView& piece : pieces) {
    if (piece.empty()) continue;
    if (count == vectors.size()) break;
    vectors[count++] = {const_cast<std::byte*>(piece.data()), piece.size()};
  }
  msghdr message{};
  message.msg_iov = vectors.data();
  message.msg_iovlen = count;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(Pipe::files_max * sizeof(int))> control;
  if (!files.empty()) {
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(files.size_bytes());
    cmsghdr* const head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(files.size_bytes());
    std::memcpy(CMSG_DATA(head), files.data(), files.size_bytes());
  }
  for (;;) {
    const ssize_t sent = ::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0 || errno != EINTR) return sent;
  }
}

ssize_t receive_once(int socket, std::span<std::byte> room, std::vector<loop::Descriptor>& files) {
  iovec vector{room.data(), room.size()};
  msghdr message{};
  message.msg_iov = &vector;
  message.msg_iovlen = 1;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(Pipe::files_max * sizeof(int))> control;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  ssize_t size = 0;
  do {
    size = ::recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  } while (size < 0 && errno == EINTR);
  if (size < 0) return size;
  for (cmsghdr* head = CMSG_FIRSTHDR(&message); head != nullptr; head = CMSG_NXTHDR(&message, head)) {
    if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int file = -1;
      std::memcpy(&file, CMSG_DATA(head) + i * sizeof(int), sizeof file);
      files.emplace_back(file);
    }
  }
  return size;
}

}  // namespace cadre::net
