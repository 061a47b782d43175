/// Where a hub is found: tcp://host:port between hosts, ipc:///path on one. Values; safe on any thread.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "base/result.h"

namespace cadre::net {

struct TcpAddress {
  std::string host;  ///< a name or an address, an IPv6 one without its brackets; * is every address of this host
  std::uint16_t port = 0;
  auto operator<=>(const TcpAddress&) const = default;
};

struct UnixAddress {
  std::string path;  ///< absolute, 107 bytes at most: the system takes no more
  auto operator<=>(const UnixAddress&) const = default;
};

using Address = std::variant<TcpAddress, UnixAddress>;

/// Reads tcp://host:port, with brackets around an IPv6 address, or ipc:///absolute/path.
[[nodiscard]] Result<Address> parse_address(std::string_view text);

std::string to_string(const Address& address);

}  // namespace cadre::net
