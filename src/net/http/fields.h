/// Fields of a request as they stand in a URL: in its path, the rest in its query. Safe on any thread.
#pragma once

#include <string>
#include <string_view>

#include "describe/value.h"

namespace cadre::net::http {

/// The path with the fields filled in whose names stand in its braces; they are taken out.
[[nodiscard]] std::string fill(std::string_view path, describe::Value::Map& fields);

/// `?key=value&…`; empty for none.
[[nodiscard]] std::string query_of(const describe::Value::Map& fields);

}  // namespace cadre::net::http
