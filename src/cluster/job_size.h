/// What a job takes. Safe on any thread.
#pragma once

#include <cstdint>

#include "cluster/job.h"

namespace cadre::cluster {

/// About how many bytes a specification takes in memory and in the database.
[[nodiscard]] std::int64_t bytes_of(const JobSpec& spec);

}  // namespace cadre::cluster
