/// Whole directories: copied and measured. Safe on any thread; both functions block.
#pragma once

#include <string>

#include "base/bytes.h"
#include "base/result.h"

namespace cadre::objects {

/// Copies folders, files with their permissions, and links as links; other things are left out. `to` must be empty or
/// not there yet. On an error a part of it may be there. Where the file system can, the bytes are shared until one of
/// the two is changed.
[[nodiscard]] Result<void> copy_tree(const std::string& from, const std::string& to);

/// The disk space of all files.
[[nodiscard]] Result<ByteSize> size_of_tree(const std::string& folder);

}  // namespace cadre::objects
