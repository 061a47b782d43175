/// How a task ended, as people say it. Values; safe on any thread.
#pragma once

#include <cstdint>
#include <string>

#include "cluster/lease.h"

namespace cadre::cluster {

/// `ended well`, `exited with 3`, `ran out of memory: used 512MiB of 512MiB`.
std::string ending_words(lease::Reason reason, std::int32_t code, const std::string& detail);

}  // namespace cadre::cluster
