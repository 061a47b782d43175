/// Names within one process: sessions of one name share a registry, from whatever loops. For the loop's thread.
#pragma once

#include <memory>
#include <string>

#include "loop/loop.h"
#include "names/backend.h"

namespace cadre::names {

[[nodiscard]] std::shared_ptr<Backend> make_memory_backend(loop::Loop& loop, const std::string& name);

}  // namespace cadre::names
