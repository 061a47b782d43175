#include "cluster/eviction.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace cadre::cluster {
namespace {

/// Tries stops on the books; whatever is still tried when it goes is taken back.
class Trial {
 public:
  Trial(State& state, const GangRow& row, const Search& search) : state_(state), row_(row), search_(search) {}
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;
  ~Trial() {
    for (const std::uint32_t gang : stopped_) apply(gang, Step::take_back);
  }

  void stop(std::uint32_t gang) {
    apply(gang, Step::stop);
    stopped_.push_back(gang);
  }
  void stop_again(std::size_t at, std::uint32_t gang) {
    apply(gang, Step::stop);
    stopped_.insert(stopped_.begin() + static_cast<std::ptrdiff_t>(at), gang);
  }
  std::uint32_t spare(std::size_t at) {
    const std::uint32_t gang = stopped_[at];
    apply(gang, Step::take_back);
    stopped_.erase(stopped_.begin() + static_cast<std::ptrdiff_t>(at));
    return gang;
  }
  const std::vector<std::uint32_t>& stopped() const { return stopped_; }

  std::optional<Parts> fit() { return place(state_.books, search_, row_.gang.wants); }

 private:
  enum class Step { stop, take_back };

  void apply(std::uint32_t gang, Step step) {
    const GangRow& row = state_.gangs[gang];
    Books& books = state_.books;
    for (const Part& part : row.parts) {
      const Amount held = books.cost(part.agent, request_of(row.gang.wants, part), part.tasks, part.slots);
      step == Step::stop ? books.begin_stop(part.agent, held) : books.cancel_stop(part.agent, held);
    }
  }

  State& state_;
  const GangRow& row_;
  const Search& search_;
  std::vector<std::uint32_t> stopped_;
};

/// Visits the candidates for a gang in the order in which they are stopped; visit returns false to end.
template <class Visit>
void each_candidate(const State& state, const Order& order, Visit visit) {
  if (state.evictable.empty() || *state.evictable.rbegin() < order) return;
  for (const Loss& loss : state.losses) {
    if (loss.priority < order.priority) return;
    if (loss.priority == order.priority && state.gangs[loss.gang].order < order) continue;
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
  std::vector<std::uint32_t> distant;
  for (std::size_t at = trial.stopped().size(); at-- > 0;) {
    if (!touches(state.gangs[trial.stopped()[at]], parts)) distant.push_back(trial.spare(at));
  }
  if (trial.fit()) return;
  for (const std::uint32_t gang : distant) trial.stop(gang);
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
        trial.stop_again(at, gang);
      }
    }
  }
}

/// Stops these, finds the place, and spares whoever is not needed for it.
std::optional<Eviction> settle(State& state, Trial& trial) {
  const auto parts = trial.fit();
  if (!parts) return std::nullopt;
  spare_distant(state, trial, *parts);
  spare_needless(trial);
  return Eviction{trial.stopped(), trial.fit().value()};
}

/// For a gang that goes whole onto one agent only the candidates on that agent matter: what each agent would have is
/// added up beside the books, until the first agent has enough.
std::optional<Eviction> evict_from_one_agent(State& state, const GangRow& row, const Search& search) {
  const Request& request = std::get<Divisible>(row.gang.wants).request;
  std::unordered_map<std::uint32_t, std::pair<Amount, std::vector<std::uint32_t>>>
      freed;  // by agent: how much, by whom
  std::vector<std::uint32_t> enough;
  each_candidate(state, row.order, [&](std::uint32_t candidate) {
    const GangRow& other = state.gangs[candidate];
    for (const Part& part : other.parts) {
      if (!state.books.agent(part.agent).takes_work() || !search.filter.admits(part.agent)) continue;
      auto& [amount, gangs] = freed[part.agent];
      amount += state.books.cost(part.agent, request_of(other.gang.wants, part), part.tasks, part.slots);
      if (gangs.empty() || gangs.back() != candidate) gangs.push_back(candidate);
      if (state.books.slots_with(part.agent, request, View::soon, amount) == request.slots)
        enough.push_back(part.agent);
    }
    return enough.empty();
  });
  if (enough.empty()) return std::nullopt;

  std::set<Loss> victims;  // of all agents that have enough now: the placement rule chooses among them
  for (const std::uint32_t agent : enough) {
    for (const std::uint32_t gang : freed.at(agent).second) victims.insert(loss_of(state.gangs[gang]));
  }
  Trial trial(state, row, search);
  for (const Loss& victim : victims) trial.stop(victim.gang);
  return settle(state, trial);
}

}  // namespace

bool only_whole(const State& state, const Wants& wants) {
  const auto* divisible = std::get_if<Divisible>(&wants);
  if (divisible == nullptr) return false;
  const std::int64_t slots = divisible->request.slots;
  if (divisible->single_agent || slots < 2) return true;
  if (divisible->uneven) return false;
  for (const auto& [size, agents] : state.books.by_size()) {
    if (size > 0 && size < slots && slots % size == 0 && static_cast<std::int64_t>(agents.size()) >= slots / size) {
      return false;
    }
  }
  return true;
}

std::optional<Eviction> find_eviction(State& state, std::uint32_t gang, const Search& search) {
  const GangRow& row = state.gangs[gang];
  if (only_whole(state, row.gang.wants)) return evict_from_one_agent(state, row, search);
  Trial trial(state, row, search);
  std::optional<Eviction> found;
  each_candidate(state, row.order, [&](std::uint32_t candidate) {
    trial.stop(candidate);
    found = settle(state, trial);
    return !found;
  });
  return found;
}

}  // namespace cadre::cluster
