/// Opens the sockets at which a server listens. Safe on any thread.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "loop/descriptor.h"

namespace cadre::net::http {

/// At a name or address and a port; 0 is a free one. `conflict` when the port is in use, `invalid` when the host is no
/// good. It is closed in programs that this process starts.
[[nodiscard]] Result<loop::Descriptor> listen_at(const std::string& host, std::uint16_t port);

/// At a path, which takes the place of a socket that is there already. Its folder says who may connect.
[[nodiscard]] Result<loop::Descriptor> listen_at_path(const std::string& path);

/// The port of a socket that listens; 0: it has none.
[[nodiscard]] std::uint16_t port_of(const loop::Descriptor& listener);

}  // namespace cadre::net::http
