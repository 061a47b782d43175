/// Names in Redis: entries that run out by themselves, changed by scripts in one step, and a channel on which each
/// change is told. For the loop's thread.
#pragma once

#include <memory>

#include "base/result.h"
#include "loop/real_loop.h"
#include "names/backend.h"
#include "names/names.h"
#include "names/url.h"

namespace cadre::names {

[[nodiscard]] Result<std::shared_ptr<Backend>> make_redis_backend(loop::RealLoop& loop, const RedisUrl& url,
                                                                  const Options& options);

}  // namespace cadre::names
