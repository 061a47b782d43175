/// How many slots each group is offered under the policy `fair_share`. Pure; safe on any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace cadre::plan {

struct GroupDemand {
  double weight = 1;
  std::int64_t fixed = 0;                        ///< slots of running gangs that may not be preempted
  std::int64_t active = 0;                       ///< slots of all its running gangs
  std::int64_t demand = 0;                       ///< slots of all its gangs, as far as its limit lets it
  std::optional<std::int64_t> smallest_pending;  ///< slots of its smallest queued gang that asks for any
  std::uint64_t age_rank = 0;                    ///< smaller is older
};

struct Offer {
  std::int64_t slots = 0;
  bool sits_out = false;  ///< the offer was too small for its smallest gang, so it was given back
  bool operator==(const Offer&) const = default;
};

/// One offer for each group. What may not be preempted counts first. Then, in rounds, smallest demand first, each
/// unsatisfied group is offered the floor of its weighted share of what was left when the round began, at least 1 and
/// never above its demand, until nothing is left. A group whose smallest pending gang does not fit into its offer keeps
/// only what its running gangs use (newest such group first), and the offers are made anew.
std::vector<Offer> make_offers(const std::vector<GroupDemand>& groups, std::int64_t slots);

/// The order in which groups are served: smallest demand first, then oldest.
std::vector<std::size_t> serving_order(const std::vector<GroupDemand>& groups);

}  // namespace cadre::plan
