/// Reads the URLs of Redis servers. No message made here repeats one: it may hold a password. Safe on any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace cadre::net::redis {

struct RedisUrl {
  std::string host;
  std::uint16_t port = 6379;
  std::string user;  ///< empty: the server's default
  std::string password;
  std::uint32_t db = 0;
  std::string prefix;  ///< of all keys and channels
  bool is_tls = false;
  std::string ca_file;  ///< empty: what the system believes
  bool operator==(const RedisUrl&) const = default;
};

/// redis://[[user]:password@]host[:port][/db][?prefix=P] or rediss://…[?ca=FILE]. The message of an error is a clause
/// about the URL.
[[nodiscard]] Result<RedisUrl> parse_redis_url(std::string_view text);

}  // namespace cadre::net::redis
