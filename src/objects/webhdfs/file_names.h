/// How keys are written as paths in HDFS. Pure functions; safe on any thread.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace cadre::objects::webhdfs {

[[nodiscard]] std::string path_of_key(std::string_view key);
/// Of one part; `invalid` for a name that path_of_key() does not write.
[[nodiscard]] Result<std::string> part_of_name(std::string_view name);

}  // namespace cadre::objects::webhdfs
