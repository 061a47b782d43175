#include "plan/eviction.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

namespace cadre::plan {
namespace {

Amount held_by(const State& state, const GangRow& row, const Part& part) {
  return state.books.cost(part.agent, request_of(row.gang.wants, part), part.tasks, part.slots);
}

/// Tries stops on the books; whatever is still tried when it goes is taken back.
class Trial {
 public:
  Trial(State& state, const GangRow& row, const Search& search) : state_(state), row_(row), search_(search) {}
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;
  ~Trial() {
    for (const std::uint32_t gang : stopped_) take_back(gang);
  }

  void stop(std::uint32_t gang) { stop_at(stopped_.size(), gang); }
  void stop_at(std::size_t at, std::uint32_t gang) {
    const GangRow& row = state_.gangs[gang];
    for (const Part& part : row.parts) state_.books.begin_stop(part.agent, held_by(state_, row, part));
    stopped_.insert(stopped_.begin() + static_cast<std::ptrdiff_t>(at), gang);
  }
  std::uint32_t spare(std::size_t at) {
    const std::uint32_t gang = stopped_[at];
    take_back(gang);
    stopped_.erase(stopped_.begin() + static_cast<std::ptrdiff_t>(at));
    return gang;
  }
  /// Spares all those for which `needless` says so; they are given back.
  template <class Needless>
  std::vector<std::uint32_t> spare_if(Needless needless) {
    const auto first =
        std::stable_partition(stopped_.begin(), stopped_.end(), [&](std::uint32_t g) { return !needless(g); });
    const std::vector<std::uint32_t> spared(first, stopped_.end());
    stopped_.erase(first, stopped_.end());
    for (const std::uint32_t gang : spared) take_back(gang);
    return spared;
  }
  const std::vector<std::uint32_t>& stopped() const { return stopped_; }

  std::optional<Parts> fit() { return place(state_.books, search_, row_.gang.wants); }

 private:
  void take_back(std::uint32_t gang) {
    const GangRow& row = state_.gangs[gang];
    for (const Part& part : row.parts) state_.books.cancel_stop(part.agent, held_by(state_, row, part));
  }

  State& state_;
  const GangRow& row_;
  const Search& search_;
  std::vector<std::uint32_t> stopped_;
};

/// Visits the candidates for a gang in the order in which they are stopped; visit returns false to end.
template <class Visit>
void each_candidate(const State& state, const Order& order, Visit visit) {
  auto behind = state.evictable.upper_bound(order);
  if (behind == state.evictable.end()) return;
  for (const Loss& loss : state.losses) {
    if (loss.priority <= order.priority) break;
    if (!visit(loss.gang)) return;
  }
  std::vector<Loss> equals;
  for (; behind != state.evictable.end() && behind->priority == order.priority; ++behind) {
    equals.push_back(loss_of(state.gangs[behind->gang]));
  }
  std::sort(equals.begin(), equals.end());
  for (const Loss& loss : equals) {
    if (!visit(loss.gang)) return;
  }
}

bool touches(const GangRow& row, const Parts& parts) {
  return std::any_of(row.parts.begin(), row.parts.end(), [&](const Part& mine) {
    return std::any_of(parts.begin(), parts.end(), [&](const Part& other) { return other.agent == mine.agent; });
  });
}

/// Spares those that do not run where the gang would go.
void spare_distant(State& state, Trial& trial, const Parts& parts) {
  const auto spared = trial.spare_if([&](std::uint32_t gang) { return !touches(state.gangs[gang], parts); });
  if (spared.empty() || trial.fit()) return;
  for (const std::uint32_t gang : spared) trial.stop(gang);
}

/// Spares, one by one, whoever is not needed; those that would lose most are spared first.
void spare_needless(Trial& trial) {
  for (bool spared = true; spared;) {
    spared = false;
    for (std::size_t at = trial.stopped().size(); at-- > 0;) {
      const std::uint32_t gang = trial.spare(at);
      if (trial.fit()) {
        spared = true;
      } else {
        trial.stop_at(at, gang);
      }
    }
  }
}

/// With these stopped: the place, and who of them is needed for it.
std::optional<Eviction> settle(State& state, Trial& trial) {
  const auto parts = trial.fit();
  if (!parts) return std::nullopt;
  spare_distant(state, trial, *parts);
  spare_needless(trial);
  return Eviction{trial.stopped(), trial.fit().value()};
}

/// Adds up, beside the books, what stopping candidates would free, and knows when a divisible gang would fit.
class Tally {
 public:
  Tally(State& state, const Search& search, const Divisible& wants)
      : state_(state),
        search_(search),
        request_(wants.request),
        whole_only_(only_whole(state, wants)),
        uneven_(wants.uneven) {
    state.sums.clear(state.on_agent.size());
    if (whole_only_) return;
    const Books& books = state.books;
    for (const auto& [size, agents] : books.by_size()) {
      if (size < 1 || size >= request_.slots || request_.slots % size != 0) continue;
      idle_missing_[size] = request_.slots / size;
      const auto idle = books.idle(View::soon).find(size);
      if (idle == books.idle(View::soon).end()) continue;
      idle->second.each_within(search.filter, [&, size = size](std::uint32_t agent) {
        if (books.slots_for(agent, request_, View::soon) >= size) --idle_missing_[size];
        return true;
      });
    }
    if (!uneven_) return;
    slots_missing_ = request_.slots;
    for (auto at = books.by_left(View::soon).lower_bound(1); at != books.by_left(View::soon).end(); ++at) {
      at->second.each_within(search.filter, [&](std::uint32_t agent) {
        slots_missing_ -= std::max<std::int64_t>(books.slots_for(agent, request_, View::soon), 0);
        return true;
      });
    }
  }

  void stop(std::uint32_t candidate) {
    const GangRow& row = state_.gangs[candidate];
    stopped_.push_back(candidate);
    for (const Part& part : row.parts) {
      if (state_.books.reach(part.agent) < least_useful(part.agent)) continue;
      if (!state_.books.takes_work(part.agent) || !search_.filter.admits(part.agent)) continue;
      Amount& amount = state_.sums.at(part.agent);
      const std::int64_t before = state_.books.slots_with(part.agent, request_, View::soon, amount);
      amount += held_by(state_, row, part);
      const std::int64_t after = state_.books.slots_with(part.agent, request_, View::soon, amount);
      if (after == before) continue;
      if (after == request_.slots) holds_all_.push_back(part.agent);
      const std::int64_t size = state_.books.capacity(part.agent).slots;
      if (const auto missing = idle_missing_.find(size); missing != idle_missing_.end() && after == size) {
        --missing->second;
      }
      slots_missing_ -= std::max<std::int64_t>(after, 0) - std::max<std::int64_t>(before, 0);
    }
  }

  bool enough() const {
    const auto suffices = [](const auto& missing) { return missing.second <= 0; };
    return !holds_all_.empty() || std::any_of(idle_missing_.begin(), idle_missing_.end(), suffices) ||
           (uneven_ && !whole_only_ && slots_missing_ <= 0);
  }

  /// Whom to stop for it: those on agents that could now hold all of it, if there are such agents, else all.
  std::vector<std::uint32_t> victims() const {
    if (holds_all_.empty()) return stopped_;
    std::vector<std::uint32_t> victims;
    const auto runs_there = [&](const Part& part) {
      return std::find(holds_all_.begin(), holds_all_.end(), part.agent) != holds_all_.end();
    };
    std::copy_if(stopped_.begin(), stopped_.end(), std::back_inserter(victims), [&](std::uint32_t gang) {
      return std::any_of(state_.gangs[gang].parts.begin(), state_.gangs[gang].parts.end(), runs_there);
    });
    return victims;
  }

  Shortage shortage() const {
    Shortage shortage;
    for (const auto& [size, missing] : idle_missing_) {
      if (shortage.idle_agents == 0 || missing < shortage.idle_agents) shortage.idle_agents = missing;
    }
    if (uneven_ && !whole_only_) shortage.slots = slots_missing_;
    return shortage;
  }

 private:
  /// An agent that can never give so many slots does not matter.
  std::int64_t least_useful(std::uint32_t agent) const {
    if (whole_only_) return request_.slots;
    return uneven_ ? 1 : std::min<std::int64_t>(request_.slots, state_.books.capacity(agent).slots);
  }

  State& state_;
  const Search& search_;
  const Request& request_;
  bool whole_only_;
  bool uneven_;
  std::vector<std::uint32_t> stopped_;
  std::vector<std::uint32_t> holds_all_;
  std::map<std::int64_t, std::int64_t> idle_missing_;  ///< by size
  std::int64_t slots_missing_ = 0;
};

EvictionSearch evict_for_divisible(State& state, const GangRow& row, const Search& search, Preemption preemption) {
  Tally tally(state, search, std::get<Divisible>(row.gang.wants));
  if (preemption == Preemption::on) {
    each_candidate(state, row.order, [&](std::uint32_t candidate) {
      tally.stop(candidate);
      return !tally.enough();
    });
  }
  if (!tally.enough()) return {std::nullopt, tally.shortage()};
  Trial trial(state, row, search);
  for (const std::uint32_t victim : tally.victims()) trial.stop(victim);
  return {settle(state, trial), {}};
}

EvictionSearch evict_for_roles(State& state, const GangRow& row, const Search& search, Preemption preemption) {
  EvictionSearch result;
  const Request& hardest = hardest_task(row.gang.wants);
  bool hardest_fits = has_room(state.books, search, hardest);
  const auto makes_room = [&](const Part& part) {
    return state.books.takes_work(part.agent) && search.filter.admits(part.agent) &&
           state.books.slots_for(part.agent, hardest, search.view) == hardest.slots;
  };
  Trial trial(state, row, search);
  if (preemption == Preemption::on) {
    each_candidate(state, row.order, [&](std::uint32_t candidate) {
      trial.stop(candidate);
      const Parts& parts = state.gangs[candidate].parts;
      hardest_fits = hardest_fits || std::any_of(parts.begin(), parts.end(), makes_room);
      if (hardest_fits) result.found = settle(state, trial);
      return !result.found;
    });
  }
  result.shortage.task_fits = hardest_fits;
  return result;
}

}  // namespace

bool only_whole(const State& state, const Wants& wants) {
  const auto* divisible = std::get_if<Divisible>(&wants);
  if (divisible == nullptr) return false;
  const std::int64_t slots = divisible->request.slots;
  if (divisible->single_agent || slots < 2) return true;
  if (divisible->uneven) return false;
  const Books::BySlots& by_size = state.books.by_size();
  return std::none_of(by_size.begin(), by_size.lower_bound(slots),
                      [&](const auto& entry) { return entry.first > 0 && slots % entry.first == 0; });
}

EvictionSearch find_eviction(State& state, std::uint32_t gang, const Search& search, Preemption preemption) {
  const GangRow& row = state.gangs[gang];
  const bool divisible = std::holds_alternative<Divisible>(row.gang.wants);
  return divisible ? evict_for_divisible(state, row, search, preemption)
                   : evict_for_roles(state, row, search, preemption);
}

}  // namespace cadre::plan
