#include "plan/fair_share.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <queue>
#include <tuple>
#include <unordered_set>
#include <utility>

namespace cadre::plan {
namespace {

bool is_served_before(const GroupDemand& a, const GroupDemand& b) {
  return std::tie(a.demand, a.age_rank) < std::tie(b.demand, b.age_rank);
}

/// Amounts at the positions of an order, and the sums of those before a position: a Fenwick tree.
class Amounts {
 public:
  explicit Amounts(std::size_t size) : amounts_(size), sums_(size + 1) {}

  [[nodiscard]] std::int64_t total() const { return total_; }
  [[nodiscard]] std::int64_t at(std::size_t position) const { return amounts_[position]; }
  [[nodiscard]] std::int64_t before(std::size_t position) const {
    std::int64_t sum = 0;
    for (std::size_t at = position; at > 0; at &= at - 1) sum += sums_[at];
    return sum;
  }
  void set(std::size_t position, std::int64_t amount) {
    const std::int64_t more = amount - std::exchange(amounts_[position], amount);
    total_ += more;
    for (std::size_t at = position + 1; at < sums_.size(); at += at & (~at + 1)) sums_[at] += more;
  }

 private:
  std::vector<std::int64_t> amounts_;
  std::vector<std::int64_t> sums_;  ///< each of a range that ends here
  std::int64_t total_ = 0;
};

/// What a group is offered in a round: at least one slot.
std::int64_t share_of(double slots, double weight, double weights) {
  constexpr double rounding = 1e-9;  // so that 6 · 0.1 / 0.3 is 2
  return std::max<std::int64_t>(static_cast<std::int64_t>(std::floor(slots * weight / weights + rounding)), 1);
}

class Division {
 public:
  Division(const std::vector<GroupDemand>& groups, std::int64_t slots)
      : groups_(groups), offers_(groups.size()), left_(slots) {
    for (const GroupDemand& group : groups_) left_ -= group.fixed;
    left_ = std::max<std::int64_t>(left_, 0);
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      offers_[i].slots = groups_[i].fixed;
      if (wants_more(i)) {
        order_.push_back(i);
      } else {
        offers_[i].sits_out = is_too_small(i, groups_[i].fixed);
      }
    }
    sort();
  }

  std::vector<Offer> run() && {
    while (true) {
      give_back_in_first_round();
      offer_in_rounds();
      const std::optional<std::size_t> newest = newest_with_too_little();
      if (!newest) return std::move(offers_);
      give_back(*newest);
    }
  }

 private:
  [[nodiscard]] bool wants_more(std::size_t i) const { return groups_[i].demand > groups_[i].fixed; }
  [[nodiscard]] bool is_too_small(std::size_t i, std::int64_t slots) const {
    return !offers_[i].sits_out && groups_[i].smallest_pending && *groups_[i].smallest_pending > slots;
  }
  void sort() {
    std::sort(order_.begin(), order_.end(),
              [&](std::size_t a, std::size_t b) { return is_served_before(groups_[a], groups_[b]); });
  }

  /// From now on it wants only what it uses.
  void sit_out(std::size_t i) {
    offers_[i].sits_out = true;
    groups_[i].demand = std::min(groups_[i].demand, groups_[i].active);
  }
  void give_back(std::size_t i) {
    sit_out(i);
    drop_those_without_wishes();
    if (wants_more(i)) sort();
  }
  void drop_those_without_wishes() {
    std::erase_if(order_, [&](std::size_t i) {
      if (wants_more(i)) return false;
      offers_[i].slots = groups_[i].fixed;
      return true;
    });
  }

  /// While the first round alone offers all that is left, the groups that come first in the order get their shares of
  /// it, the next one the rest, and the others nothing. Then what a group gives back goes to those behind it, and only
  /// shares that grow, because the weights of fewer groups count, have to be looked at. With 100,000 groups that wait,
  /// dividing anew for each that gives back would take minutes.
  void give_back_in_first_round();

  void offer_in_rounds() {
    for (const std::size_t i : order_) offers_[i].slots = groups_[i].fixed;
    std::int64_t left = left_;
    while (left > 0) {
      double weights = 0;
      for (const std::size_t i : order_) weights += offers_[i].slots < groups_[i].demand ? groups_[i].weight : 0;
      if (weights == 0) break;
      const auto at_start = static_cast<double>(left);
      for (const std::size_t i : order_) {
        if (offers_[i].slots >= groups_[i].demand) continue;
        const std::int64_t given =
            std::min({share_of(at_start, groups_[i].weight, weights), groups_[i].demand - offers_[i].slots, left});
        offers_[i].slots += given;
        left -= given;
      }
    }
  }

  [[nodiscard]] std::optional<std::size_t> newest_with_too_little() const {
    std::optional<std::size_t> newest;
    for (const std::size_t i : order_) {
      if (!is_too_small(i, offers_[i].slots)) continue;
      if (!newest || std::tie(groups_[i].age_rank, *newest) > std::tie(groups_[*newest].age_rank, i)) newest = i;
    }
    return newest;
  }

  std::vector<GroupDemand> groups_;
  std::vector<Offer> offers_;
  std::int64_t left_;               ///< for all beyond what is fixed
  std::vector<std::size_t> order_;  ///< in which those that want more are served
};

/// The first round, while groups give back.
class FirstRound {
 public:
  FirstRound(const std::vector<GroupDemand>& groups, const std::vector<std::size_t>& order, std::int64_t slots)
      : groups_(groups), order_(order), slots_(slots), amounts_(order.size()) {
    for (const std::size_t i : order) weights_ += groups[i].weight;
    for (std::size_t at = 0; at < order.size(); ++at) set_share(at);
  }

  /// Whether nothing is left for another round.
  [[nodiscard]] bool is_the_last() const { return amounts_.total() >= slots_; }
  [[nodiscard]] std::int64_t offered(std::size_t position) const {
    return std::clamp<std::int64_t>(slots_ - amounts_.before(position), 0, amounts_.at(position));
  }

  /// The group there wants no more. Returns whether the shares of others have grown: then less is left for those
  /// behind.
  bool remove(std::size_t position) {
    weights_ -= groups_[order_[position]].weight;
    amounts_.set(position, 0);
    is_removed_.insert(position);
    constexpr double margin = 1e-8;  // sums are rounded: shares that are about to grow are looked at, too
    std::vector<std::size_t> looked_at;
    while (!growth_.empty() && growth_.top().first >= weights_ * (1 - margin)) {
      looked_at.push_back(growth_.top().second);
      growth_.pop();
    }
    bool has_grown = false;
    for (const std::size_t other : looked_at) {
      if (is_removed_.contains(other)) continue;
      const std::int64_t before = amounts_.at(other);
      set_share(other);
      has_grown |= amounts_.at(other) != before;
    }
    return has_grown;
  }

 private:
  /// Also notes below which sum of weights it grows, if it may.
  void set_share(std::size_t position) {
    const GroupDemand& group = groups_[order_[position]];
    const std::int64_t wanted = group.demand - group.fixed;
    const std::int64_t share = share_of(static_cast<double>(slots_), group.weight, weights_);
    amounts_.set(position, std::min(share, wanted));
    if (share >= wanted) return;
    growth_.emplace(static_cast<double>(slots_) * group.weight / static_cast<double>(share + 1), position);
  }

  const std::vector<GroupDemand>& groups_;
  const std::vector<std::size_t>& order_;
  std::int64_t slots_;
  double weights_ = 0;
  Amounts amounts_;
  std::unordered_set<std::size_t> is_removed_;
  std::priority_queue<std::pair<double, std::size_t>> growth_;
};

void Division::give_back_in_first_round() {
  struct Candidate {
    std::uint64_t age_rank;
    std::size_t group;
    std::size_t position;
    /// The newest first.
    bool operator<(const Candidate& other) const {
      return std::tie(age_rank, other.group) < std::tie(other.age_rank, group);
    }
  };
  FirstRound round(groups_, order_, left_);
  std::priority_queue<Candidate> candidates;
  for (std::size_t at = 0; at < order_.size(); ++at) {
    const std::size_t i = order_[at];
    if (is_too_small(i, groups_[i].fixed)) candidates.push({groups_[i].age_rank, i, at});
  }
  std::vector<Candidate> content;  // what they are offered does not shrink before another share grows
  while (!candidates.empty() && round.is_the_last()) {
    const Candidate newest = candidates.top();
    candidates.pop();
    const GroupDemand& group = groups_[newest.group];
    if (!is_too_small(newest.group, group.fixed + round.offered(newest.position))) {
      content.push_back(newest);
      continue;
    }
    if (std::min(group.demand, group.active) > group.fixed) break;  // it is served at another time then
    sit_out(newest.group);
    if (!round.remove(newest.position)) continue;
    for (const Candidate& one : std::exchange(content, {})) candidates.push(one);
  }
  drop_those_without_wishes();
}

}  // namespace

std::vector<std::size_t> serving_order(const std::vector<GroupDemand>& groups) {
  std::vector<std::size_t> order(groups.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return is_served_before(groups[a], groups[b]); });
  return order;
}

std::vector<Offer> make_offers(const std::vector<GroupDemand>& groups, std::int64_t slots) {
  return Division(groups, slots).run();
}

}  // namespace cadre::plan
