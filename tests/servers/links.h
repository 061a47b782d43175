/// Network interfaces of the namespace that the calling thread is in. They throw std::system_error. Any thread.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "loop/descriptor.h"

namespace cadre::servers {

using HardwareAddress = std::array<std::uint8_t, 6>;

/// One end of a cable.
struct CableEnd {
  std::string interface;
  HardwareAddress hardware_address{};
};

/// Lays a cable from here to another network namespace; it goes when either of them does.
void lay_cable(const CableEnd& here, const CableEnd& there, int network_there);
/// As 10.77.0.3, in a network of 254 hosts.
void set_address(const std::string& interface, const std::string& address);
void bring_up(const std::string& interface);

/// A socket that gets every frame that comes in at the interface, and sends frames out of it; each with a
/// virtio_net_hdr before it, so that the kernel may leave frames of up to 64 KB whole and without checksums.
loop::Descriptor open_frames(const std::string& interface);

}  // namespace cadre::servers
