/// Whether a master that was named without http or https speaks TLS. Safe on any thread; waits for the network.
#pragma once

#include <string>

namespace cadre::client {

/// Whether a master answers at an address http://host:port or https://host:port now.
[[nodiscard]] bool answers(const std::string& url);

/// The address with https where the master at it speaks TLS, else as it is. When it does not and the host is not this
/// one, it says once on standard error that the connection is not encrypted.
[[nodiscard]] std::string prefer_tls(const std::string& http_url);

}  // namespace cadre::client
