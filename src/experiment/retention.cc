#include "experiment/retention.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace cadre::experiment {
namespace {

using Ranked = std::vector<const CheckpointRow*>;

void keep_first(const Ranked& ranked, std::int64_t most, std::set<CheckpointId>& kept) {
  const auto count = std::min<std::size_t>(ranked.size(), static_cast<std::size_t>(most));
  for (std::size_t i = 0; i < count; ++i) kept.insert(ranked[i]->id);
}

}  // namespace

std::vector<CheckpointId> outdated(const std::vector<CheckpointRow>& checkpoints, const Retention& retention,
                                   bool smaller_is_better, const std::set<CheckpointId>& pinned) {
  Ranked best;
  std::map<TrialId, Ranked> best_of;
  std::map<TrialId, Ranked> latest_of;
  for (const CheckpointRow& row : checkpoints) {
    if (row.state != CheckpointState::completed) continue;
    latest_of[row.trial].push_back(&row);
    if (!row.has_metric) continue;
    best.push_back(&row);
    best_of[row.trial].push_back(&row);
  }
  const auto is_better = [&](const CheckpointRow* a, const CheckpointRow* b) {
    const double first = smaller_is_better ? a->metric : -a->metric;
    const double second = smaller_is_better ? b->metric : -b->metric;
    return std::tie(first, a->created, a->id) < std::tie(second, b->created, b->id);
  };
  const auto is_later = [](const CheckpointRow* a, const CheckpointRow* b) {
    return std::tie(a->created, a->id) > std::tie(b->created, b->id);
  };
  std::set<CheckpointId> kept = pinned;
  std::sort(best.begin(), best.end(), is_better);
  keep_first(best, retention.save_experiment_best, kept);
  for (auto& [trial, ranked] : best_of) {
    std::sort(ranked.begin(), ranked.end(), is_better);
    keep_first(ranked, retention.save_trial_best, kept);
  }
  for (auto& [trial, ranked] : latest_of) {
    std::sort(ranked.begin(), ranked.end(), is_later);
    keep_first(ranked, retention.save_trial_latest, kept);
  }
  std::vector<CheckpointId> gone;
  for (const CheckpointRow& row : checkpoints) {
    if (row.state == CheckpointState::completed && !kept.contains(row.id)) gone.push_back(row.id);
  }
  return gone;
}

}  // namespace cadre::experiment
