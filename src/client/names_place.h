/// Where a program's names are kept when it says so in few words. For the loop's thread.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "loop/blocking_pool.h"
#include "loop/real_loop.h"
#include "names/names.h"

namespace cadre::client {

/// As names::open. An empty URL is `master://`: the master that find_master finds, which within a task is that of its
/// cluster. Of a master for which the URL has no token, it is asked with the one that find_master finds.
[[nodiscard]] Result<std::unique_ptr<names::Names>> open_names(loop::RealLoop& loop, loop::BlockingPool& pool,
                                                               const std::string& url,
                                                               const names::Options& options = {});

}  // namespace cadre::client
