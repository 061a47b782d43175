/// Where a gang goes: one agent, wholly idle agents of one size, or an exact uneven division; roles task by task.
/// Pure: the same books give the same answer. One thread at a time.
#pragma once

#include <cstdint>
#include <optional>

#include "plan/books.h"
#include "plan/gang.h"
#include "plan/policy.h"

namespace cadre::plan {

struct Search {
  View view = View::now;
  Fitting fitting = Fitting::best;
  AgentSet::Filter filter;
  std::uint64_t tie_seed = 0;  ///< FNV-1a of "gang/", which the agent's name continues
};

std::uint64_t tie_seed(const GangId& gang);

/// A place for all of it, or nothing.
std::optional<Parts> place(Books& books, const Search& search, const Wants& wants);

/// The task that is hardest to place of those without which the gang cannot start.
const Request& hardest_task(const Wants& wants);

/// Whether some agent has room for one task of this request.
bool has_room(const Books& books, const Search& search, const Request& request);

/// Some tasks of a role that a running gang still wants.
struct More {
  std::int32_t role = 0;
  std::int32_t tasks = 0;
};

/// Places for more tasks beside what the gang has; as many as there is room for.
Parts place_more(Books& books, const Search& search, const Roles& roles, const Parts& present, More more);

/// Books `parts` as started.
void start(Books& books, const Wants& wants, const Parts& parts);

const Request& request_of(const Wants& wants, const Part& part);

}  // namespace cadre::plan
