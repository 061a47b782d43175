#include "plan/fair_share.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>

namespace cadre::plan {
namespace {

bool is_served_before(const GroupDemand& a, const GroupDemand& b) {
  return std::tie(a.demand, a.age_rank) < std::tie(b.demand, b.age_rank);
}

/// Positions of an order, of which some were removed.
class Positions {
 public:
  explicit Positions(std::size_t size) : sums_(size + 1) {
    for (std::size_t at = 1; at <= size; ++at) sums_[at] = static_cast<std::int64_t>(at & (~at + 1));
  }
  [[nodiscard]] std::int64_t before(std::size_t position) const {
    std::int64_t count = 0;
    for (std::size_t at = position; at > 0; at &= at - 1) count += sums_[at];
    return count;
  }
  void remove(std::size_t position) {
    for (std::size_t at = position + 1; at < sums_.size(); at += at & (~at + 1)) --sums_[at];
  }

 private:
  std::vector<std::int64_t> sums_;  ///< a Fenwick tree: each of a range that ends here
};

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
      give_back_small_shares();
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
    sort();
  }
  void drop_those_without_wishes() {
    std::erase_if(order_, [&](std::size_t i) {
      if (wants_more(i)) return false;
      offers_[i].slots = groups_[i].fixed;
      return true;
    });
  }

  /// While more groups want slots than there are, and no share has two, the first in the order get one slot each and
  /// the others none. Then what a group gives back goes to the next one, and nothing has to be divided anew: with
  /// 100,000 groups that wait, dividing anew for each would take minutes.
  void give_back_small_shares() {
    double weights = 0, heaviest = 0;
    for (const std::size_t i : order_) {
      weights += groups_[i].weight;
      heaviest = std::max(heaviest, groups_[i].weight);
    }
    struct Candidate {
      std::size_t group, position;
    };
    std::vector<Candidate> candidates;
    for (std::size_t at = 0; at < order_.size(); ++at) {
      if (is_too_small(order_[at], groups_[order_[at]].fixed)) candidates.push_back({order_[at], at});
    }
    std::sort(candidates.begin(), candidates.end(), [&](const Candidate& a, const Candidate& b) {
      const std::uint64_t left = groups_[a.group].age_rank, right = groups_[b.group].age_rank;
      return left != right ? left > right : a.group < b.group;
    });
    Positions positions(order_.size());
    auto count = static_cast<std::int64_t>(order_.size());
    for (const auto& [i, position] : candidates) {
      constexpr double nearly_two = 1.9;  // no rounding makes two of it
      const bool has_small_shares = count >= left_ && static_cast<double>(left_) * heaviest < nearly_two * weights;
      const GroupDemand& group = groups_[i];
      if (!has_small_shares) break;
      if (!is_too_small(i, group.fixed + (positions.before(position) < left_ ? 1 : 0))) continue;
      const bool changes_place = std::min(group.demand, group.active) > group.fixed;
      if (changes_place) break;
      sit_out(i);
      positions.remove(position);
      weights -= group.weight;
      --count;
    }
    drop_those_without_wishes();
  }

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
        constexpr double rounding = 1e-9;  // so that 6 · 0.1 / 0.3 is 2
        const auto share = static_cast<std::int64_t>(std::floor(at_start * groups_[i].weight / weights + rounding));
        const std::int64_t given =
            std::min({std::max<std::int64_t>(share, 1), groups_[i].demand - offers_[i].slots, left});
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
