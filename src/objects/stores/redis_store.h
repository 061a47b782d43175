/// Objects in a Redis server, each in pieces. Threads as in objects/store.h.
///
/// With the prefix of the store before each key: `o:KEY` is a hash with what is known of an object, `u:ID` a hash with
/// the pieces of its content by their numbers, `index` a sorted set of all keys. The pieces of an upload expire an hour
/// after the last one came; a script that makes the object appear keeps them for good.
#pragma once

#include <memory>

#include "base/result.h"
#include "objects/store.h"

namespace cadre::objects {

[[nodiscard]] Result<std::unique_ptr<Store>> open_redis_store(const RedisStoreConfig& config,
                                                              const StoreOptions& options);

}  // namespace cadre::objects
