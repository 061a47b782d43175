/// The sockets of pipes: how they are made, and what one call of the system sends and receives. Any thread.
#pragma once

#include <sys/socket.h>
#include <sys/types.h>

#include <cstddef>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "loop/descriptor.h"
#include "net/pipe/pipe.h"

namespace cadre::net {

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
  int family() const { return storage.ss_family; }
};

[[nodiscard]] Result<SocketAddress> socket_address(const PipeAddress& from);

/// For TCP: what is said goes at once, and a host that is gone is noticed within seconds.
void set_tcp_options(int socket);

/// One that does not block.
[[nodiscard]] Result<loop::Descriptor> make_socket(int family);

/// One sendmsg; how many bytes it took, or -1 and errno.
ssize_t send_once(int socket, std::span<const BytesView> pieces, std::span<const int> files);
/// One recvmsg; appends the files that came.
ssize_t receive_once(int socket, std::span<std::byte> room, std::vector<loop::Descriptor>& files);

}  // namespace cadre::net
