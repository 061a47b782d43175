/// Who comes before whom, in the queue and among victims; and which gangs are alike. For tests; one thread.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "plan/planner.h"

namespace cadre::oracle {

/// Indexes of gangs in a snapshot.
using Indexes = std::vector<std::size_t>;

/// Priority, then position, then submission.
bool before(const plan::Snapshot& snapshot, std::size_t a, std::size_t b);

/// The queued gangs in that order.
Indexes queue_of(const plan::Snapshot& snapshot);

/// Sorts running gangs so that those come first that are stopped first.
void sort_victims(const plan::Snapshot& snapshot, Indexes& victims);

/// Whether two gangs differ in nothing that decides if they fit.
bool alike(const plan::Snapshot& snapshot, std::size_t a, std::size_t b);

/// The most slots its group may use, if that is limited.
std::optional<std::int64_t> limit_of(const plan::Snapshot& snapshot, const plan::Gang& gang);

/// Those of its accounts that have a limit.
std::set<plan::AccountId> limited_accounts(const plan::Snapshot& snapshot, const plan::Gang& gang);

}  // namespace cadre::oracle
