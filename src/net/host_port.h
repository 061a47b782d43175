/// A host and a port as people write them: `host:port`. The one parser of these. Values; safe on any thread.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace cadre::net {

struct HostPort {
  std::string host;                   ///< a name or an address, an IPv6 one without its brackets; * is every address
  std::optional<std::uint16_t> port;  ///< none: it was not written
  auto operator<=>(const HostPort&) const = default;
};

/// Reads `host`, `host:port` and `[::1]:port`. The message of an error is a clause about the text ("its port is not a
/// number from 0 to 65535"): the caller says which text, and how to write it.
[[nodiscard]] Result<HostPort> parse_host_port(std::string_view text);

/// As it stands in an address: an IPv6 address has brackets.
[[nodiscard]] std::string host_in_address(const std::string& host);

/// Whether only processes of this host reach it: 127.0.0.1, ::1 or localhost.
[[nodiscard]] bool is_loopback(std::string_view host);

}  // namespace cadre::net
