/// Files of one folder for browsers. Safe on any thread.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace cadre::gateway {

struct StaticFile {
  std::string body;
  std::string content_type;
};

/// The file at the path of a request (`/assets/app.js`; `/` is index.html). Files outside of the folder, symbolic links
/// and hidden files are `not_found`.
[[nodiscard]] Result<StaticFile> read_static(const std::string& folder, std::string_view path);

}  // namespace cadre::gateway
