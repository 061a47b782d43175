#include "experiment/ending.h"

#include <utility>

#include "describe/describe.h"

namespace cadre::experiment {
namespace {

std::string words(const GangEnd& end) {
  std::string text;
  switch (end.reason) {
    case cluster::lease::Reason::exited: text = "exit code " + std::to_string(end.code); break;
    case cluster::lease::Reason::signalled: text = "signal " + std::to_string(end.code); break;
    default: text = describe::name_of(end.reason); break;
  }
  for (char& letter : text) letter = letter == '_' ? ' ' : letter;
  if (end.detail.empty()) return text;
  text += ": ";
  // A reason is one line; a detail may hold several lines of output.
  std::string_view detail = end.detail;
  while (detail.ends_with('\n')) detail.remove_suffix(1);
  for (const char letter : detail) text += letter == '\n' ? std::string("; ") : std::string(1, letter);
  return text;
}

bool has_failed(const GangEnd& end) { return end.reason != cluster::lease::Reason::exited || end.code != 0; }

/// Rules 7 and 8, and 4 for a trial that has failed while it was to be paused.
TrialVerdict judge_exit(const TrialFlags& flags, const GangEnd& end) {
  if (!has_failed(end)) return TrialEnds{TrialState::completed, false, {}};
  if (!flags.forbidden.empty()) return TrialEnds{TrialState::error, false, words(end) + "; " + flags.forbidden};
  const std::int32_t restarts = flags.restarts + 1;
  if (restarts > flags.max_restarts) {
    return TrialEnds{TrialState::error, false, words(end) + "; max_restarts is " + std::to_string(flags.max_restarts)};
  }
  if (flags.pausing) return TrialPauses{restarts};
  return TrialRestarts{restarts, flags.excluded.empty() ? words(end) : words(end) + "; " + flags.excluded};
}

}  // namespace

TrialVerdict judge(const TrialFlags& flags, const GangEnd& end) {
  if (flags.stopping) {
    const char* const reason = *flags.stopping == Outcome::killed ? "killed" : "";
    return TrialEnds{terminal_trial_state(*flags.stopping), false, reason};
  }
  if (flags.searcher_stopped) {
    return TrialEnds{TrialState::completed, false, flags.reached_end ? reached_end_reason : stopped_reason};
  }
  if (flags.declared_invalid) return TrialEnds{TrialState::completed, true, "declared its hyperparameters invalid"};
  if (flags.replacing) return TrialRestarts{flags.restarts, "continues from the checkpoint of another trial"};
  const bool was_stopped = end.cause == GangEnd::Cause::user || end.cause == GangEnd::Cause::system;
  if (flags.pausing && (flags.acknowledged || was_stopped)) return TrialPauses{flags.restarts};
  switch (end.cause) {
    case GangEnd::Cause::never: return TrialEnds{TrialState::error, false, words(end)};
    case GangEnd::Cause::system: return TrialRestarts{flags.restarts, words(end)};
    case GangEnd::Cause::user: return TrialEnds{TrialState::canceled, false, words(end)};
    case GangEnd::Cause::itself: break;
  }
  return judge_exit(flags, end);
}

bool depends_on_output(const TrialFlags& flags, const TrialVerdict& verdict) {
  const auto* restarts = std::get_if<TrialRestarts>(&verdict);
  const auto* pauses = std::get_if<TrialPauses>(&verdict);
  return (restarts != nullptr && restarts->restarts > flags.restarts) ||
         (pauses != nullptr && pauses->restarts > flags.restarts);
}

}  // namespace cadre::experiment
