/// Objects in a bucket of S3, each an object there with its SHA-256 as metadata. Threads as in objects/store.h.
#pragma once

#include <memory>

#include "base/result.h"
#include "objects/store.h"

namespace cadre::objects {

[[nodiscard]] Result<std::unique_ptr<Store>> open_s3_store(const S3StoreConfig& config, const StoreOptions& options);

}  // namespace cadre::objects
