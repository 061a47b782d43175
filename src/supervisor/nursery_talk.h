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

// First the nursery sends its Means. Then each question is the path of a folder and carries a descriptor:

/// The control data of a message that carries one descriptor.
union Cargo {
  cmsghdr head;
  std::array<char, CMSG_SPACE(sizeof(int))> room;
};

/// Such a message, to be sent or to be received into.
class Letter {
 public:
  Letter(void* text, std::size_t size) : text_{text, size} {
    header.msg_iov = &text_;
    header.msg_iovlen = 1;
    header.msg_control = &cargo;
    header.msg_controllen = sizeof(cargo);
  }
  Letter(const Letter&) = delete;
  Letter& operator=(const Letter&) = delete;

  msghdr header{};
  Cargo cargo{};

 private:
  iovec text_;
};

/// And this is the answer to each.
struct Answer {
  pid_t pid = 0;
  int error_number = 0;
};

}  // namespace cadre::supervisor::nursery_talk
