#include "plan/walk.h"

#include <algorithm>

namespace cadre::plan {

Places to_places(const State& state, const Parts& parts) {
  Places places;
  places.reserve(parts.size());
  for (const Part& part : parts)
    places.push_back({state.books.agent(part.agent).id, part.role, part.tasks, part.slots});
  return places;
}

void start_gang(Plan& plan, State& state, std::uint32_t gang, Parts parts, TimePoint now) {
  plan.start.push_back({state.gangs[gang].gang.id, to_places(state, parts)});
  state.start(gang, std::move(parts), now);
  state.gangs[gang].placed_by_plan = true;
}

void stop_gang(Plan& plan, State& state, std::uint32_t gang, const GangId& by) {
  GangRow& row = state.gangs[gang];
  plan.preempt.push_back(row.gang.id);
  row.others = {by};
  state.begin_stop(gang);
}

void grow_gang(Plan& plan, State& state, std::uint32_t gang, const Search& search,
               std::optional<std::int64_t> slots_max) {
  const Roles roles = std::get<Roles>(state.gangs[gang].gang.wants);
  Places joined;
  for (std::size_t i = 0; i < roles.size(); ++i) {
    const Role& role = roles[i];
    More more{static_cast<std::int32_t>(i), role.count};
    for (const Part& part : state.gangs[gang].parts) more.tasks -= part.role == more.role ? part.tasks : 0;
    if (slots_max && role.request.slots > 0) {
      const std::int64_t room = std::max<std::int64_t>(0, *slots_max) / role.request.slots;
      more.tasks = static_cast<std::int32_t>(std::min<std::int64_t>(more.tasks, room));
    }
    if (more.tasks <= 0) continue;
    const Parts parts = place_more(state.books, search, roles, state.gangs[gang].parts, more);
    for (const Part& part : parts) {
      if (slots_max) *slots_max -= part.slots;
    }
    const Places places = to_places(state, parts);
    joined.insert(joined.end(), places.begin(), places.end());
    state.grow(gang, parts);
  }
  if (!joined.empty()) plan.grow.push_back({state.gangs[gang].gang.id, std::move(joined)});
}

Wants without_elastic(const Wants& wants) {
  const auto* roles = std::get_if<Roles>(&wants);
  if (roles == nullptr) return wants;
  Roles least = *roles;
  for (Role& role : least) role.count = role.least_count();
  return least;
}

GangClass admission_of(const State& state, const GangRow& row) {
  GangClass one;
  one.selector = row.gang.selector;
  one.exclude = row.gang.exclude;
  one.binding.owners = row.owners(state.books);
  return one;
}

}  // namespace cadre::plan
