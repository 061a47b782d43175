/// URLs of HTTP servers as a configuration names them. Values; safe on any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace cadre::objects {

struct HttpUrl {
  bool is_tls = false;
  std::string host;  ///< as it stands in a URL: an IPv6 address has brackets
  std::uint16_t port = 0;
  std::string path;  ///< empty, or begins with a slash and does not end with one; escaped

  /// Without the port that is usual for the scheme, as clients write it into the header Host.
  std::string authority() const;
  /// scheme://authority
  std::string origin() const;
};

/// Reads http://host[:port][/path] and https://…; without user, query and fragment. The message of an error is a clause
/// about the URL and does not repeat it.
[[nodiscard]] Result<HttpUrl> parse_http_url(std::string_view text);

}  // namespace cadre::objects
