#include "experiment/metrics/runs.h"

#include <algorithm>

namespace cadre::experiment::metrics {

Runs::Runs(std::vector<RunSpan> runs) : runs_(std::move(runs)) {
  std::erase_if(runs_, [](const RunSpan& run) { return !run.is_visible(); });
  std::sort(runs_.begin(), runs_.end(), [](const RunSpan& a, const RunSpan& b) { return a.number < b.number; });
}

RunSpan* Runs::find(std::uint64_t number) {
  const auto found = std::find_if(runs_.begin(), runs_.end(), [&](const RunSpan& run) { return run.number == number; });
  return found == runs_.end() ? nullptr : &*found;
}

std::vector<RunSpan> Runs::report(std::uint64_t number, std::int64_t steps, TreeId tree) {
  RunSpan* run = find(number);
  if (run != nullptr && run->first <= steps) return {};
  std::vector<RunSpan> changed;
  if (run == nullptr) {
    runs_.push_back({.number = number, .tree = tree, .first = steps});
    run = &runs_.back();
  }
  run->first = steps;
  changed.push_back(*run);
  for (RunSpan& older : runs_) {
    if (older.number == number || older.end <= steps) continue;
    older.end = steps;
    older.has_hidden = true;
    changed.push_back(older);
  }
  std::erase_if(runs_, [](const RunSpan& one) { return !one.is_visible(); });
  return changed;
}

}  // namespace cadre::experiment::metrics
