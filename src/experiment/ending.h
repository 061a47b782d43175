/// What becomes of a trial whose gang has ended: one pure function with the rules in their order. Safe on any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "cluster/lease.h"
#include "experiment/states.h"

namespace cadre::experiment {

/// How the gang of a run ended, as the cluster reports it.
struct GangEnd {
  cluster::lease::Reason reason = cluster::lease::Reason::exited;
  std::int32_t code = 0;
  std::string detail;
  enum class Cause : std::uint8_t {
    itself,  ///< its program has ended, or was killed for what it did
    user,    ///< a user has stopped its job
    system,  ///< its agent was lost, or it was preempted and not run again
    never,   ///< it can never start: refused by the pool, no such interpreter or folder
  };
  Cause cause = Cause::itself;
};

/// What was asked of the trial, or what it said, before its gang ended.
struct TrialFlags {
  std::optional<Outcome> stopping;  ///< for good
  bool searcher_stopped = false;
  bool declared_invalid = false;
  bool replacing = false;  ///< its searcher lets it continue from the checkpoint of another trial
  bool pausing = false;
  bool acknowledged = false;  ///< that it is to be paused or was preempted
  std::int32_t restarts = 0;
  std::int32_t max_restarts = 0;
  bool may_restart = true;  ///< no log policy forbids it
};

// What becomes of it.

/// It has reached a state in which it stays.
struct TrialEnds {
  TrialState state = TrialState::completed;
  bool is_invalid = false;  ///< its searcher replaces it
  std::string reason;
  bool operator==(const TrialEnds&) const = default;
};
struct TrialPauses {
  std::int32_t restarts = 0;
  bool operator==(const TrialPauses&) const = default;
};
/// It is queued again and continues from its latest checkpoint.
struct TrialRestarts {
  std::int32_t restarts = 0;  ///< counted so far, with this one if it counts
  std::string reason;
  bool operator==(const TrialRestarts&) const = default;
};
using TrialVerdict = std::variant<TrialEnds, TrialPauses, TrialRestarts>;

[[nodiscard]] TrialVerdict judge(const TrialFlags& flags, const GangEnd& end);

}  // namespace cadre::experiment
