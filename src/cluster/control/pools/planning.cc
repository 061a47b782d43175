#include "cluster/control/pools/planning.h"

#include <optional>
#include <utility>

namespace cadre::cluster::control {
namespace {

/// So many gangs are looked at in one step because a limit was set or removed, so that it does not keep others waiting.
constexpr std::size_t gangs_at_once = 1'000;

}  // namespace

void Planning::plan_due(TimePoint now) {
  is_finished_ = true;
  for (auto& [name, pool] : pools_.all()) {
    if (pool.planner.prepare(gangs_at_once)) {
      pool.prepared_since.reset();
    } else if (now - pool.prepared_since.value_or(now) < settings_.beat_every) {
      if (!pool.prepared_since) pool.prepared_since = now;
      is_finished_ = false;
      continue;
    } else {
      pool.prepared_since.reset();  // new limits come faster than they are prepared: the plan does the rest at once
    }
    if (pool.closed) continue;
    if (pools_.count_elsewhere(pool)) pool.changed = true;
    const bool time_tells = pool.planner.queued() > 0 && now - pool.planned >= settings_.beat_every;
    if (pool.changed || time_tells) plan(name, pool, now);
  }
}

void Planning::plan(const std::string& name, Pool& pool, TimePoint now) {
  pool.changed = false;
  pool.planned = now;
  std::optional<plan::PlanFile> file;
  if (settings_.record_plans) file = to_plan_file(pool.planner.snapshot(now));
  plan::Plan plan = pool.planner.plan(now);
  for (const GangId& id : plan.preempt) {
    Job& job = ledger_.change(job_id(id));
    job.row.history.stop = pools_.preemption_words(job);
    jobs_.stop_tasks(job.row.id, lease::Reason::preempted, now);
  }
  for (const plan::Start& one : plan.start) {
    rejoin_.give_up_lost(job_id(one.id), now);  // what was left of the run before
    jobs_.begin(job_id(one.id), one.on, now);
    const JobRow& row = ledger_.find(job_id(one.id))->row;
    if (row.runs == 1) waits_.observe(now - row.submitted);
  }
  for (const plan::Start& one : plan.grow) jobs_.grow(job_id(one.id), one.on, now);
  pool.changed = false;  // it knows of the stops it has ordered itself
  // Of one whose tasks wait for a restart nothing runs.
  for (const GangId& id : plan.preempt) jobs_.review(job_id(id), now);
  const bool decided = !plan.start.empty() || !plan.grow.empty() || !plan.preempt.empty();
  if (file && decided) outbox_.record({name, *std::move(file), std::move(plan)});
}

}  // namespace cadre::cluster::control
