#include "cluster/eviction.h"

#include <algorithm>
#include <tuple>

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

std::vector<std::uint32_t> candidates_behind(const State& state, const Order& order) {
  std::vector<std::uint32_t> gangs;
  for (auto at = state.evictable.upper_bound(order); at != state.evictable.end(); ++at) gangs.push_back(at->gang);
  std::sort(gangs.begin(), gangs.end(),
            [&](std::uint32_t a, std::uint32_t b) { return stops_before(state.gangs[a], state.gangs[b]); });
  return gangs;
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

}  // namespace

bool stops_before(const GangRow& a, const GangRow& b) {
  return std::tuple(b.gang.priority, b.saved, b.since, b.order.submission) <
         std::tuple(a.gang.priority, a.saved, a.since, a.order.submission);
}

std::optional<Eviction> find_eviction(State& state, std::uint32_t gang, const Search& search) {
  const GangRow& row = state.gangs[gang];
  Trial trial(state, row, search);
  for (const std::uint32_t candidate : candidates_behind(state, row.order)) {
    trial.stop(candidate);
    const auto parts = trial.fit();
    if (!parts) continue;
    spare_distant(state, trial, *parts);
    spare_needless(trial);
    return Eviction{trial.stopped(), trial.fit().value()};
  }
  return std::nullopt;
}

}  // namespace cadre::cluster
