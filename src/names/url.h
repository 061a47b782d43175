/// Reads the URLs of names. No message made here repeats one: it may hold a password. Safe on any thread.
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "base/result.h"
#include "net/redis/redis_url.h"

namespace cadre::names {

using net::redis::RedisUrl;

struct MemoryUrl {
  std::string name;
  bool operator==(const MemoryUrl&) const = default;
};

struct FileUrl {
  std::string folder;  ///< absolute
  bool operator==(const FileUrl&) const = default;
};

struct MasterUrl {
  std::string address;    ///< http://host:port or https://host:port; empty: the one that the caller knows of
  std::string workspace;  ///< empty: that of the task that asks, else the default one
  std::string token;      ///< empty: the caller's own
  std::string ca_file;    ///< empty: what the system believes
  std::string socket;     ///< by which the caller reaches it on this host; empty: by `address`
  bool operator==(const MasterUrl&) const = default;
};

using Url = std::variant<MemoryUrl, FileUrl, RedisUrl, MasterUrl>;

[[nodiscard]] Result<Url> parse_url(std::string_view text);

}  // namespace cadre::names
