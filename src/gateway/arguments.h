/// The fields of a request from where they stand in HTTP: path, query, body. Safe on any thread.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

#include "describe/describe.h"
#include "gateway/operation.h"
#include "net/http/message.h"

namespace cadre::gateway {

/// What stood where a path has names in braces.
using PathNames = std::vector<std::pair<std::string, std::string>>;

/// The tree from which the request is read, or all that is wrong with how it was said.
[[nodiscard]] tl::expected<describe::Value, describe::Faults> arguments(const Operation& operation,
                                                                        const PathNames& names,
                                                                        const net::http::Request& request);

}  // namespace cadre::gateway
