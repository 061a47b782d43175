/// What becomes of a trial whose gang has ended: one pure function with the rules in their order. Safe on any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "cluster/ids.h"
#include "cluster/lease.h"
#include "describe/describe.h"
#include "experiment/states.h"

namespace cadre::experiment {

/// The output of a task of a run that has ended.
struct RunOutput {
  static constexpr std::string_view doc = "The output of a task.";
  cluster::LeaseId lease;
  std::string agent;     ///< on which it ran
  std::int64_t end = 0;  ///< of its output
  bool operator==(const RunOutput&) const = default;
};
template <class V>
void describe(V& v, RunOutput& o) {
  v.required("lease", o.lease, "Lease of the task.");
  v.required("agent", o.agent, "Agent on which it ran.");
  v.required("end", o.end, "End of its output.");
}
/// Tasks whose output may be searched; those that have failed come first.
constexpr std::size_t run_outputs_most = 32;

/// How the gang of a run ended, as the cluster reports it.
struct GangEnd {
  static constexpr std::string_view doc = "How the tasks of a run ended.";
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
  std::vector<RunOutput> outputs = {};
};
/// Of one whose program has failed: no other is kept.
template <class V>
void describe(V& v, GangEnd& e) {
  v.field("reason", e.reason, "Why it ended.");
  v.field("code", e.code, "Exit code, or signal number.");
  v.field("detail", e.detail, "Details for display.");
  v.field("outputs", e.outputs, "Output of its tasks.");
}

/// What was asked of the trial, or what it said, before its gang ended.
struct TrialFlags {
  std::optional<Outcome> stopping;  ///< for good
  bool searcher_stopped = false;
  bool reached_end = false;  ///< the searcher has stopped it because it has trained for its max_time
  bool declared_invalid = false;
  bool replacing = false;  ///< its searcher lets it continue from the checkpoint of another trial
  bool pausing = false;
  bool acknowledged = false;  ///< that it is to be paused or was preempted
  std::int32_t restarts = 0;
  std::int32_t max_restarts = 0;
  std::string forbidden;  ///< why it may not restart, by a log policy; empty: it may
  std::string excluded;   ///< why it may not restart on an agent, by a log policy
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

/// Of trials that their searcher has stopped.
inline constexpr const char* stopped_reason = "stopped by the searcher";
inline constexpr const char* reached_end_reason = "reached max_time";

[[nodiscard]] TrialVerdict judge(const TrialFlags& flags, const GangEnd& end);

/// Whether the verdict is that of a trial that has failed and may go on, so that its log policies have a say in it.
[[nodiscard]] bool depends_on_output(const TrialFlags& flags, const TrialVerdict& verdict);

}  // namespace cadre::experiment
