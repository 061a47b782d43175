#include "plan/fair_share.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

namespace cadre::plan {
namespace {

std::vector<std::int64_t> offers_in_rounds(const std::vector<GroupDemand>& groups, std::int64_t slots) {
  const std::vector<std::size_t> order = serving_order(groups);
  std::vector<std::int64_t> offers;
  std::int64_t left = slots;
  for (const GroupDemand& group : groups) {
    offers.push_back(group.fixed);
    left -= group.fixed;
  }
  while (left > 0) {
    double weights = 0;
    for (std::size_t i = 0; i < groups.size(); ++i) weights += offers[i] < groups[i].demand ? groups[i].weight : 0;
    if (weights == 0) break;
    const auto at_start = static_cast<double>(left);
    for (const std::size_t i : order) {
      if (offers[i] >= groups[i].demand) continue;
      constexpr double rounding = 1e-9;  // so that 6 · 0.1 / 0.3 is 2
      const auto share = static_cast<std::int64_t>(std::floor(at_start * groups[i].weight / weights + rounding));
      const std::int64_t given = std::min({std::max<std::int64_t>(share, 1), groups[i].demand - offers[i], left});
      offers[i] += given;
      left -= given;
    }
  }
  return offers;
}

}  // namespace

std::vector<std::size_t> serving_order(const std::vector<GroupDemand>& groups) {
  std::vector<std::size_t> order(groups.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::tie(groups[a].demand, groups[a].age_rank) < std::tie(groups[b].demand, groups[b].age_rank);
  });
  return order;
}

std::vector<Offer> make_offers(const std::vector<GroupDemand>& groups, std::int64_t slots) {
  std::vector<GroupDemand> asking = groups;
  std::vector<Offer> offers(groups.size());
  while (true) {
    const std::vector<std::int64_t> amounts = offers_in_rounds(asking, slots);
    std::optional<std::size_t> gives_back;
    for (std::size_t i = 0; i < asking.size(); ++i) {
      offers[i].slots = amounts[i];
      if (offers[i].sits_out || !asking[i].smallest_pending || *asking[i].smallest_pending <= amounts[i]) continue;
      if (!gives_back || asking[i].age_rank > asking[*gives_back].age_rank) gives_back = i;
    }
    if (!gives_back) return offers;
    offers[*gives_back].sits_out = true;
    asking[*gives_back].demand = std::min(asking[*gives_back].demand, asking[*gives_back].active);
  }
}

}  // namespace cadre::plan
