/// What several requests about experiments have in common: names in messages, and refusals. Safe on any thread.
#pragma once

#include <optional>
#include <string>

#include "api/reply.h"
#include "experiment/ids.h"

namespace cadre::experiment {

[[nodiscard]] inline std::string name_of(ExperimentId id) { return "experiment " + std::to_string(id.value); }

[[nodiscard]] inline api::Failed no_such(const std::string& what) {
  return {Errc::not_found, "there is no " + what + "; see cadre experiment list", {}};
}

/// The trial with which another experiment begins, if that is what the text names.
[[nodiscard]] inline std::optional<TrialId> trial_in(const std::string& warm_start) {
  const Result<TrialId> trial = parse_trial_id(warm_start);
  return trial ? std::optional(*trial) : std::nullopt;
}

}  // namespace cadre::experiment
