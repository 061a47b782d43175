#include "cluster/restart.h"

namespace cadre::cluster::restart {
namespace {

/// The wait after so many restarts in a row.
Duration wait_after(const OnFailure& policy, std::int32_t restarts) {
  const auto longest = static_cast<double>(policy.longest_wait.count());
  auto wait = static_cast<double>(policy.first_wait.count());
  for (; restarts > 0 && wait < longest; --restarts) wait *= policy.factor;
  return wait < longest ? Duration(static_cast<Duration::rep>(wait)) : policy.longest_wait;
}

Judged after_failure(const Never&, std::int32_t restarts, const Run&) {
  return {GiveUp{"it is never restarted; give it another restart policy if it should be"}, restarts};
}

Judged after_failure(const OnFailure& policy, std::int32_t restarts, const Run& run) {
  if (run.ended - run.started > policy.reset_after) restarts = 0;
  if (restarts < policy.max_restarts) return {Restart{run.ended + wait_after(policy, restarts)}, restarts + 1};
  return {GiveUp{"after " + std::to_string(restarts) + (restarts == 1 ? " restart" : " restarts in a row") +
                 ", which is the limit; see its output for the cause, or raise max_restarts"},
          restarts};
}

}  // namespace

Judged judge(const Policy& policy, std::int32_t restarts, const Run& run) {
  if (run.ending.reason == lease::Reason::exited) {
    switch (run.ending.code) {
      case 0: return {Finish{}, restarts};
      case exit_without_restart: return {GiveUp{"exit code 64 prevents a restart"}, restarts};
      case exit_with_gang: return {EndGang{"exit code 65 ends all tasks"}, restarts};
      default: break;
    }
  }
  return std::visit([&](const auto& kind) { return after_failure(kind, restarts, run); }, policy);
}

}  // namespace cadre::cluster::restart
