/// Sockets of whole packets (SOCK_SEQPACKET) on this host, never waited on. One thread at a time.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <span>
#include <string>

#include "base/bytes.h"
#include "base/result.h"
#include "supervisor/descriptor.h"

namespace cadre::supervisor {

/// Listens at a name in the current folder, however deep that lies; what stood there before is removed.
[[nodiscard]] Result<Descriptor> listen_here(const std::string& name);
/// The next one who has connected; none when nobody waits.
[[nodiscard]] Descriptor accept_one(int listener);
/// Whether the process at the other end is of the user of this one, or of root.
[[nodiscard]] bool is_of_own_user(int fd);
/// The process at the other end, as it is numbered here; 0 when it is not known.
[[nodiscard]] pid_t peer_of(int fd);

enum class Sent : std::uint8_t {
  yes,
  later,  ///< the other side has not read enough
  never,  ///< it is gone, or such a packet cannot be sent
};
[[nodiscard]] Sent send_packet(int fd, BytesView packet);

struct Received {
  enum class Kind : std::uint8_t {
    packet,
    too_long,  ///< it was thrown away
    nothing,
    closed,
  };
  Kind kind = Kind::nothing;
  BytesView bytes;  ///< in the buffer
};
[[nodiscard]] Received receive_packet(int fd, std::span<std::byte> buffer);

}  // namespace cadre::supervisor
