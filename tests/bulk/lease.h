/// The leases of these tests. Safe on any thread.
#pragma once

#include <cstdint>

#include "cluster/ids.h"

namespace cadre {

inline cluster::LeaseId lease_of(std::uint64_t number) { return {{cluster::JobId{number}, 0}, cluster::Epoch{1}}; }

}  // namespace cadre
