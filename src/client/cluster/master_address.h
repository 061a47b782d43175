/// The one spelling of where a master is, for commands, Python and C++: http://host:port, https://host:port,
/// cadre://host[:port] and host:port are addresses of its API; all else is the data folder of a master on this host.
/// Pure functions; safe on any thread.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace cadre::client {

/// Exactly one of both.
struct MasterAddress {
  std::string url;     ///< http or https, without a slash at its end
  std::string folder;  ///< as it was given
  bool operator==(const MasterAddress&) const = default;
};

/// `invalid`, with what to write instead, when it is neither.
[[nodiscard]] Result<MasterAddress> parse_master_address(std::string_view text);

/// Whether two URLs are of one master: `localhost`, 127.0.0.1 and [::1] are one host.
[[nodiscard]] bool is_same_master(std::string_view url, std::string_view other);

/// Host and port of a URL, as they are written in it.
[[nodiscard]] std::string host_port_of(std::string_view url);

/// A URL without slashes at its end.
[[nodiscard]] std::string plain_url(std::string_view url);

}  // namespace cadre::client
