#include "master/metrics/untaken.h"

#include <algorithm>
#include <utility>

#include "experiment/tables.h"
#include "master/bulk/bulk_rows.h"

namespace cadre::master {
namespace {

constexpr Duration repeated_after = std::chrono::seconds(5);

}  // namespace

void UntakenValidations::add(const experiment::ValidationRow& validation, TimePoint now) {
  Last& last = last_[validation.trial];
  last = {std::max(last.number, validation.number), now};
  tell_({validation});
}

void UntakenValidations::take(const experiment::ValidationTaken& taken) {
  const auto found = last_.find(taken.trial);
  if (found != last_.end() && found->second.number <= taken.number) last_.erase(found);
}

Result<void> UntakenValidations::repeat(TimePoint now) {
  for (auto& [trial, last] : last_) {
    if (now - last.told < repeated_after) continue;
    last.told = now;
    TRY_ASSIGN(rows, select_rows<experiment::ValidationRow>(
                         database_, "WHERE experiment = $1 AND trial = $2 ORDER BY number",
                         {static_cast<std::int64_t>(trial.experiment.value), std::int64_t{trial.number}}));
    for (experiment::ValidationRow& row : rows) tell_({std::move(row)});
  }
  return {};
}

}  // namespace cadre::master
