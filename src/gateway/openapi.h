/// The OpenAPI document (3.1) of everything that can be asked over HTTP, made from the declarations. Safe on any
/// thread.
#pragma once

#include <string>
#include <string_view>

namespace cadre::gateway {

/// Indented, with a line end.
[[nodiscard]] std::string openapi_document(std::string_view version);

}  // namespace cadre::gateway
