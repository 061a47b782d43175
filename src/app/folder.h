/// Data folders of processes. Any thread.
#pragma once

#include <string>

#include "base/result.h"
#include "loop/descriptor.h"

namespace cadre::app {

/// Makes a folder that only its owner may use, with those above it; its absolute path.
[[nodiscard]] Result<std::string> make_private_folder(const std::string& path);

/// Keeps others from using the folder as long as what it gives lives. Waits two seconds for one that is about to end.
[[nodiscard]] Result<loop::Descriptor> lock_folder(const std::string& data);

}  // namespace cadre::app
