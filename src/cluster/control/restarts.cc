#include <algorithm>

#include "base/check.h"
#include "base/overloaded.h"
#include "base/rounded.h"
#include "cluster/control/control.h"

namespace cadre::cluster::control {
namespace {

using lease::Reason;

/// A role with fewer tasks than it needs.
struct TooFew {
  const MemberSpec& member;
  TimePoint since;  ///< as many as now were missing
};

std::optional<TooFew> too_few(const Job& job, std::size_t role) {
  const MemberSpec& member = job.row.spec.members[role];
  if (!member.minimum) return std::nullopt;
  const auto needed = static_cast<std::size_t>(member.minimum->count);
  std::size_t tasks = 0;
  std::vector<TimePoint> missing;
  for (const auto& [number, task] : job.tasks) {
    if (!job.in_run(task) || static_cast<std::size_t>(task.role) != role) continue;
    ++tasks;
    const lease::Ending* ending = ending_of(task);
    if (awaits_restart(task) || (ending != nullptr && !went_well(*ending))) missing.push_back(task.ended);
  }
  CHECK(tasks >= needed);  // it starts with that many
  if (tasks - missing.size() >= needed) return std::nullopt;
  std::sort(missing.begin(), missing.end());
  return TooFew{member, missing[tasks - needed]};
}

std::optional<TooFew> too_few(const Job& job) {
  std::optional<TooFew> first;
  for (std::size_t role = 0; role < job.row.spec.members.size(); ++role) {
    const auto found = too_few(job, role);
    const auto end = [](const TooFew& one) { return one.since + one.member.minimum->within; };
    if (found && (!first || end(*found) < end(*first))) first.emplace(*found);
  }
  return first;
}

}  // namespace

void Control::judge_end(TaskId id, TimePoint now) {
  const Job& job = *ledger_.find(id.job);
  const lease::Ending* ending = ending_of(*ledger_.find(id));
  const std::optional<restart::Policy>& policy = member_of(id).restart;
  if (!policy || job.row.stage != JobStage::running || ending == nullptr || was_interrupted(*ending)) return;
  TaskRow& task = ledger_.change(id);
  const TimePoint began = task.started == TimePoint{} ? task.placed : task.started;
  const restart::Judged judged = restart::judge(*policy, task.restarts, {began, task.ended, *ending});
  task.restarts = judged.restarts;
  const auto explain = [&](const std::string& why) {
    std::string& detail = task.ending.detail;
    detail += detail.empty() ? why : "; " + why;
  };
  std::visit(overloaded{
                 [&](const restart::Restart& one) {
                   set_restart(id, one.at);
                   step(id, lease::Again{}, now);
                 },
                 [](const restart::Finish&) {},
                 [&](const restart::GiveUp& one) { explain(one.why); },
                 [&](const restart::EndGang& one) { explain(one.why); },
             },
             judged.verdict);
  if (is_impaired(job)) impaired_.insert(id.job);
}

bool Control::is_impaired(const Job& job) const {
  if (job.row.stage != JobStage::running) return false;
  const bool restarts =
      std::any_of(job.tasks.begin(), job.tasks.end(), [](const auto& one) { return awaits_restart(one.second); });
  return restarts || too_few(job).has_value();
}

void Control::tick_restarts(TimePoint now) {
  const std::set<JobId> impaired = impaired_;
  for (const JobId id : impaired) {
    restart_due(id, now);
    end_if_too_few(id, now);
    const Job* job = ledger_.find(id);
    if (job == nullptr || !is_impaired(*job)) impaired_.erase(id);
  }
}

void Control::restart_due(JobId id, TimePoint now) {
  std::vector<TaskId> due;
  for (const auto& [member, task] : ledger_.find(id)->tasks) {
    if (awaits_restart(task) && task.restart_at <= now) due.push_back(task.id);
  }
  for (const TaskId& each : due) {
    const TaskRow& task = *ledger_.find(each);
    const AgentEntry& agent = *ledger_.find(task.agent);  // one on which something is expected is not forgotten
    std::size_t is_free = 0;
    for (std::size_t slot = 0; slot < agent.users.size(); ++slot) is_free += agent.is_free(slot);
    const bool takes_work =
        agent.row.agent.enabled && !agent.row.agent.draining && agent.obstacle.empty() && is_free >= task.slots.size();
    if (agent.row.lost || !takes_work) {
      stop_tasks(id, agent.row.lost ? Reason::agent_lost : Reason::preempted, now);
      return review(id, now);
    }
    if (!agent.peer || !agent.is_clean()) continue;  // it may come back, or be lost
    const auto slots = static_cast<std::int32_t>(task.slots.size());
    place_task(ledger_.change(id), each.member, {task.agent, task.role, 1, slots}, slots, now);
    step(each, lease::Place{task.agent}, now);
  }
}

void Control::end_if_too_few(JobId id, TimePoint now) {
  const Job& job = *ledger_.find(id);
  const auto found = job.row.stage == JobStage::running ? too_few(job) : std::nullopt;
  if (!found || now < found->since + found->member.minimum->within) return;
  const Minimum& minimum = *found->member.minimum;
  ledger_.change(id).row.detail = "fewer than " + std::to_string(minimum.count) + " tasks of role " +
                                  found->member.role + " were available for " + rounded(minimum.within);
  stop_tasks(id, Reason::signalled, now);
  review(id, now);
}

void Control::note_deadline(const Job& job) {
  if (job.row.spec.max_time) deadlines_.emplace(job.row.started + *job.row.spec.max_time, job.row.id);
}

void Control::tick_deadlines(TimePoint now) {
  std::vector<std::pair<TimePoint, JobId>> due;
  for (const auto& one : deadlines_) {
    if (one.first > now) break;
    due.push_back(one);
  }
  for (const auto& [at, id] : due) {
    deadlines_.erase({at, id});
    const Job* job = ledger_.find(id);
    const bool counts = job != nullptr && job->row.stage == JobStage::running && job->row.spec.max_time &&
                        job->row.started + *job->row.spec.max_time == at;
    if (!counts) continue;  // it has ended, or was started again since
    const std::string why = "it ran longer than its max_time of " + cadre::to_string(*job->row.spec.max_time);
    ledger_.change(id).row.why = why;
    ledger_.note(now, id, why);
    end(id, std::nullopt, now);
  }
}

}  // namespace cadre::cluster::control
