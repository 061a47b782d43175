/// A lock between processes, also of several hosts that share a folder. Blocks.
#pragma once

#include <string>

#include "base/result.h"
#include "base/time.h"
#include "loop/descriptor.h"

namespace cadre::objects {

/// Held until the descriptor is closed. `timed_out` when others have held it for so long.
[[nodiscard]] Result<loop::Descriptor> lock_folder(const std::string& path, Duration wait);

}  // namespace cadre::objects
