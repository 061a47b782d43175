/// The OpenAPI document (3.1) of the HTTP API, generated from the declarations. Safe on any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gateway/gateway.h"

namespace cadre::gateway {

/// Indented, with a line end.
[[nodiscard]] std::string openapi_document(std::string_view version, const std::vector<PartInterface>& parts);

}  // namespace cadre::gateway
