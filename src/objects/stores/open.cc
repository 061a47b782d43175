#include "base/overloaded.h"
#include "objects/s3/s3_store.h"
#include "objects/store.h"
#include "objects/stores/folder_store.h"
#include "objects/stores/memory_store.h"
#include "objects/stores/redis_store.h"
#include "objects/webhdfs/webhdfs_store.h"

namespace cadre::objects {

/// The place where a kind of store is added.
Result<std::unique_ptr<Store>> open(const StoreConfig& config, const StoreOptions& options) {
  TRY(check_config(config));
  return std::visit(
      overloaded{
          [](const MemoryStoreConfig& memory) -> Result<std::unique_ptr<Store>> { return open_memory_store(memory); },
          [](const FileStoreConfig& file) { return open_folder_store(file); },
          [&](const RedisStoreConfig& redis) { return open_redis_store(redis, options); },
          [&](const S3StoreConfig& s3) { return open_s3_store(s3, options); },
          [&](const WebhdfsStoreConfig& webhdfs) { return open_webhdfs_store(webhdfs, options); },
      },
      config);
}

}  // namespace cadre::objects
