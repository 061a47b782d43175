#include "remote/restart.h"

#include <algorithm>

#include "base/overloaded.h"

namespace cadre::remote {
namespace {

std::string told(const RunEnding& ending) {
  return std::visit(
      overloaded{
          [](const Exited& exited) { return "it ended with exit code " + std::to_string(exited.code); },
          [](const Signalled& signalled) { return "it was ended by signal " + std::to_string(signalled.signal); },
      },
      ending);
}

/// The wait after so many restarts in a row.
Duration wait_after(const RestartOnFailure& policy, std::int32_t restarts) {
  const auto longest = static_cast<double>(policy.longest_wait.count());
  auto wait = static_cast<double>(policy.first_wait.count());
  for (; restarts > 0 && wait < longest; --restarts) wait *= policy.factor;
  return wait < longest ? Duration(static_cast<Duration::rep>(wait)) : policy.longest_wait;
}

Judged after_failure(const NeverRestart&, std::int32_t restarts, const Run& run) {
  return {GiveUp{told(run.ending) + ", and is never restarted; give it another restart policy if it should be"},
          restarts};
}

Judged after_failure(const RestartOnFailure& policy, std::int32_t restarts, const Run& run) {
  if (run.ended - run.started > policy.reset_after) restarts = 0;
  if (restarts < policy.max_restarts) return {Restart{run.ended + wait_after(policy, restarts)}, restarts + 1};
  return {GiveUp{told(run.ending) + " after " + std::to_string(restarts) +
                 " restarts in a row, which is the most; its output may say why, max_restarts allows more"},
          restarts};
}

}  // namespace

Judged judge(const RestartPolicy& policy, std::int32_t restarts, const Run& run) {
  if (const auto* exited = std::get_if<Exited>(&run.ending)) {
    switch (exited->code) {
      case 0: return {Finish{}, restarts};
      case exit_without_restart: return {GiveUp{told(run.ending) + ": it asks not to be restarted"}, restarts};
      case exit_with_group: return {EndGroup{told(run.ending) + ": it asks that the whole group ends"}, restarts};
      default: break;
    }
  }
  return std::visit([&](const auto& kind) { return after_failure(kind, restarts, run); }, policy);
}

}  // namespace cadre::remote
