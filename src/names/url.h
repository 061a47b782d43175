/// Reads the URLs of names. No message made here repeats one: it may hold a password. Safe on any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/result.h"

namespace cadre::names {

struct MemoryUrl {
  std::string name;
  bool operator==(const MemoryUrl&) const = default;
};

struct FileUrl {
  std::string folder;  ///< absolute
  bool operator==(const FileUrl&) const = default;
};

struct RedisUrl {
  std::string host;
  std::uint16_t port = 6379;
  std::string user;  ///< empty: the server's default
  std::string password;
  std::uint32_t db = 0;
  std::string prefix = "cadre:names:";  ///< of all keys and channels
  bool is_tls = false;
  std::string ca_file;  ///< empty: what the system believes
  bool operator==(const RedisUrl&) const = default;
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
