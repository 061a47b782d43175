/// Reads database URLs. No message made here repeats a URL: it may hold a password. Safe on any thread.
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "base/result.h"

namespace cadre::database {

struct SqliteUrl {
  std::string path;  ///< ":memory:" for a database that lives as long as its connection
};

struct PostgresUrl {
  std::string text;  ///< as given; to be shown to nobody
};

using Url = std::variant<SqliteUrl, PostgresUrl>;

[[nodiscard]] Result<Url> parse_url(std::string_view text);

}  // namespace cadre::database
