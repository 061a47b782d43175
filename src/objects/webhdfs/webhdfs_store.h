/// Objects as files in a folder of HDFS, by WebHDFS. Threads as in objects/store.h.
///
///   PATH/objects/KEY   the bytes; the SHA-256 is the extended attribute user.sha256
///   PATH/uploads/      content that is still being written, under random names
///
/// A rename within HDFS makes an object appear, and never replaces another. In file names, `%`, `:` and a dot at the
/// beginning, which have a meaning to HDFS, are written as %25, %3A and %2E. All files are for their owner only.
#pragma once

#include <memory>

#include "base/result.h"
#include "objects/store.h"

namespace cadre::objects {

[[nodiscard]] Result<std::unique_ptr<Store>> open_webhdfs_store(const WebhdfsStoreConfig& config,
                                                                const StoreOptions& options);

}  // namespace cadre::objects
