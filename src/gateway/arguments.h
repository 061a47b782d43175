/// Reads the fields of a request from path, query and body. Safe on any thread.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

#include "api/operation.h"
#include "describe/describe.h"
#include "net/http/message.h"

namespace cadre::gateway {

/// The values of the names in braces in a path.
using PathNames = std::vector<std::pair<std::string, std::string>>;

/// The tree from which the request is read, or all faults of the arguments.
[[nodiscard]] tl::expected<describe::Value, describe::Faults> arguments(const api::Operation& operation,
                                                                        const PathNames& names,
                                                                        const net::http::Request& request);

}  // namespace cadre::gateway
