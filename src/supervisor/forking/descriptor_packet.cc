#include "supervisor/forking/descriptor_packet.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/check.h"

namespace cadre::supervisor {

bool send_descriptors(int socket, BytesView packet, std::span<const int> descriptors) {
  CHECK(descriptors.size() <= descriptors_max);
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(int) * descriptors_max)> room{};
  iovec text{const_cast<std::byte*>(packet.data()), packet.size()};
  msghdr header{};
  header.msg_iov = &text;
  header.msg_iovlen = 1;
  if (!descriptors.empty()) {
    header.msg_control = room.data();
    header.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
    cmsghdr& control = *CMSG_FIRSTHDR(&header);
    control.cmsg_level = SOL_SOCKET;
    control.cmsg_type = SCM_RIGHTS;
    control.cmsg_len = CMSG_LEN(descriptors.size_bytes());
    std::memcpy(CMSG_DATA(&control), descriptors.data(), descriptors.size_bytes());
  }
  ssize_t sent = 0;
  while ((sent = ::sendmsg(socket, &header, MSG_NOSIGNAL)) < 0 && errno == EINTR) {
  }
  return sent == static_cast<ssize_t>(packet.size());
}

DescriptorPacket receive_descriptors(int socket, std::span<std::byte> buffer) {
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(int) * descriptors_max) + CMSG_SPACE(sizeof(ucred))> room{};
  iovec text{buffer.data(), buffer.size()};
  msghdr header{};
  header.msg_iov = &text;
  header.msg_iovlen = 1;
  header.msg_control = room.data();
  header.msg_controllen = room.size();
  DescriptorPacket came;
  ssize_t size = 0;
  // Who closes without having read all is reported before the last words it has sent.
  for (int resets = 0; (size = ::recvmsg(socket, &header, MSG_CMSG_CLOEXEC)) < 0;) {
    if (errno != EINTR && (errno != ECONNRESET || ++resets > 1)) break;
  }
  if (size <= 0) {
    came.is_closed = size == 0 || errno != EAGAIN;
    return came;
  }
  for (cmsghdr* one = CMSG_FIRSTHDR(&header); one != nullptr; one = CMSG_NXTHDR(&header, one)) {
    if (one->cmsg_level != SOL_SOCKET) continue;
    if (one->cmsg_type == SCM_RIGHTS) {
      const std::size_t count = (one->cmsg_len - CMSG_LEN(0)) / sizeof(int);
      for (std::size_t i = 0; i < count; ++i) {
        int fd = -1;
        std::memcpy(&fd, CMSG_DATA(one) + i * sizeof(int), sizeof(int));
        came.descriptors.emplace_back(fd);
      }
    } else if (one->cmsg_type == SCM_CREDENTIALS) {
      ucred sender{};
      std::memcpy(&sender, CMSG_DATA(one), sizeof(sender));
      came.sender = sender.pid;
    }
  }
  if ((header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0) came.bytes = buffer.first(static_cast<std::size_t>(size));
  return came;
}

}  // namespace cadre::supervisor
