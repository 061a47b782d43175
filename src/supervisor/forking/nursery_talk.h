/// What a nursery and its agent say to each other: both are of one version. For their threads of one process each.
#pragma once

#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

#include <array>
#include <cstddef>

namespace cadre::supervisor::nursery_talk {

/// Where the nursery finds its end of the connection.
constexpr int nursery_socket = 3;

// First the nursery sends its IsolationFeatures. Then each question is the path of a folder and carries a descriptor:

/// A message that carries one descriptor, to be sent or to be received into.
class Letter {
 public:
  Letter(void* text, std::size_t size) : text_{text, size} {
    header.msg_iov = &text_;
    header.msg_iovlen = 1;
    header.msg_control = cargo_.data();
    header.msg_controllen = cargo_.size();
  }
  Letter(const Letter&) = delete;
  Letter& operator=(const Letter&) = delete;

  cmsghdr& packet() { return *reinterpret_cast<cmsghdr*>(cargo_.data()); }
  msghdr header{};

 private:
  iovec text_;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> cargo_{};
};

/// And this is the answer to each.
struct Answer {
  pid_t pid = 0;
  int error_number = 0;
};

}  // namespace cadre::supervisor::nursery_talk
