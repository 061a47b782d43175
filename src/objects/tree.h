/// Whole directories: copied and measured. Safe on any thread; both functions block.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "base/bytes.h"
#include "base/result.h"

namespace cadre::objects {

struct TreeBounds {
  ByteSize disk_max{std::numeric_limits<std::int64_t>::max()};    ///< disk space of all files
  ByteSize length_max{std::numeric_limits<std::int64_t>::max()};  ///< sum of their lengths, holes included
  std::int64_t entries_max = std::numeric_limits<std::int64_t>::max();
  int levels_max = 128;  ///< of nested folders
};
/// Copies folders, files with their permissions, and links as links; other things are left out, and holes of files stay
/// holes. `to` must be empty or not there yet. On an error a part of it may be there. Where the file system can, the
/// bytes are shared until one of the two is changed. Invalid, in words, as soon as the tree is seen to exceed the
/// bounds.
[[nodiscard]] Result<void> copy_tree(const std::string& from, const std::string& to, const TreeBounds& bounds = {});

/// The disk space of all files. Invalid, in words, as soon as the tree is seen to exceed the bounds.
[[nodiscard]] Result<ByteSize> size_of_tree(const std::string& folder, const TreeBounds& bounds = {});

}  // namespace cadre::objects
