/// How packets are read: the buffer that all of a supervisor's sockets share, and the bounds on what is in a packet.
/// For the supervisor's only thread.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "cluster/supervision.h"
#include "describe/formats.h"

namespace cadre::supervisor {

/// Taken from one socket before the others have their turn.
constexpr int packets_at_once = 64;

constexpr describe::Bounds packet_bounds{
    .size_bytes = cluster::supervision::packet_bytes_max, .depth = 8, .nodes = 10'000, .copies = 0};

inline std::span<std::byte> packet_buffer() {
  static std::array<std::byte, cluster::supervision::packet_bytes_max> buffer;
  return buffer;
}

}  // namespace cadre::supervisor
