/// Objects as plain files in a folder that many hosts may share. Threads as in objects/store.h; many processes may use
/// the folder at a time.
///
///   PATH/objects/KEY   the bytes
///   PATH/hashes/KEY    their SHA-256 and size; an object exists when both files do
///   PATH/uploads/      content that is still being written, under random names
///   PATH/lock          held for the moment in which an object appears or is removed
///
/// All files are for their owner only.
#pragma once

#include <memory>

#include "base/result.h"
#include "objects/store.h"

namespace cadre::objects {

/// `not_found` when the folder does not exist: it is not created, since it may be one that is not mounted.
[[nodiscard]] Result<std::unique_ptr<Store>> open_folder_store(const FileStoreConfig& config);

}  // namespace cadre::objects
