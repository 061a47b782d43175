/// Packets that carry descriptors from one process of this host to another. One thread at a time.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "supervisor/descriptor.h"

namespace cadre::supervisor {

constexpr std::size_t descriptors_max = 64;  ///< descriptors in one packet

/// Whether it was sent whole. Waits for room unless the socket does not.
[[nodiscard]] bool send_descriptors(int socket, BytesView packet, std::span<const int> descriptors);

struct DescriptorPacket {
  BytesView bytes;  ///< in the buffer; empty: nothing came, or what came was cut off
  std::vector<Descriptor> descriptors;
  pid_t sender = 0;        ///< as it is numbered here; known to a socket with SO_PASSCRED
  bool is_closed = false;  ///< nothing more will come
};
/// Waits for it unless the socket does not.
[[nodiscard]] DescriptorPacket receive_descriptors(int socket, std::span<std::byte> buffer);

}  // namespace cadre::supervisor
