/// Names in a folder that hosts share (names/file/file_tree.h), which a pool reads and writes. For the loop's thread.
#pragma once

#include <memory>
#include <string>

#include "loop/blocking_pool.h"
#include "loop/loop.h"
#include "names/backend.h"
#include "names/names.h"

namespace cadre::names {

[[nodiscard]] std::shared_ptr<Backend> make_file_backend(loop::Loop& loop, loop::BlockingPool& pool,
                                                         const std::string& folder, const Options& options);

}  // namespace cadre::names
