/// Objects in the memory of the process, for tests and small things. Threads as in objects/store.h.
#pragma once

#include <memory>

#include "objects/store.h"

namespace cadre::objects {

[[nodiscard]] std::unique_ptr<Store> open_memory_store(const MemoryStoreConfig& config);

}  // namespace cadre::objects
