#include <algorithm>

#include "base/check.h"
#include "cluster/control/control.h"

namespace cadre::cluster::control {

void Control::plan(const std::string& name, Pool& pool, TimePoint now) {
  pool.changed = false;
  pool.planned = now;
  std::optional<plan::PlanFile> file;
  if (settings_.record_plans) file = to_plan_file(pool.planner.snapshot(now));
  plan::Plan plan = pool.planner.plan(now);
  for (const GangId& id : plan.preempt) {
    Job& job = ledger_.change(job_id(id));
    job.row.history.stop = preemption_words(job);
    stop_tasks(job_id(id), lease::Reason::preempted, now);
  }
  for (const plan::Start& one : plan.start) {
    Job& job = ledger_.change(job_id(one.id));
    give_up_lost(job.row.id, now);  // what was left of the run before
    ++job.row.runs;
    job.tally = {};
    job.row.stage = JobStage::running;
    job.row.started = now;
    note_deadline(job);
    ledger_.note(now, job_id(one.id), "placed");
    start(job.row.id, one.on, now);
  }
  for (const plan::Start& one : plan.grow) start(job_id(one.id), one.on, now);
  pool.changed = false;                                           // it knows of the stops it has ordered itself
  for (const GangId& id : plan.preempt) review(job_id(id), now);  // of one whose tasks wait for a restart nothing runs
  const bool decided = !plan.start.empty() || !plan.grow.empty() || !plan.preempt.empty();
  if (file && decided) outcome_.plans.push_back({name, *std::move(file), std::move(plan)});
}

std::string Control::preemption_words(const Job& job) const {
  const auto by = pools_.at(job.row.spec.pool).planner.preempted_for(gang_id(job.row.id));
  if (!by || by->value.empty()) return "preempted: its group holds more than the slots it is offered";
  const Job* other = ledger_.find(job_id(*by));
  if (other == nullptr) return "preempted";
  const std::string priority = "priority " + std::to_string(other->row.spec.priority);
  // Whoever sees this job sees the others of its workspace.
  if (other->row.spec.workspace != job.row.spec.workspace) return "preempted for another job of " + priority;
  return "preempted for job " + std::to_string(other->row.id.value) + " (" + priority + ")";
}

void Control::set_quota(const AccountId& account, std::optional<std::int64_t> max_slots) {
  for (auto& [name, pool] : pools_) {
    pool.planner.set_account(account, max_slots);
    pool.changed = true;
  }
}

std::int64_t Control::held_by(const AccountId& account) const {
  std::int64_t slots = 0;
  for (const auto& [name, pool] : pools_) slots += pool.planner.held_by(account);
  return slots;
}

bool Control::count_elsewhere(Pool& pool) {
  if (pools_.size() < 2) return false;  // spares looking at all accounts every time
  bool has_more_room = false;
  for (const AccountId& account : pool.planner.limited_accounts()) {
    const std::int64_t elsewhere = held_by(account) - pool.planner.held_by(account);
    has_more_room |= pool.planner.set_elsewhere(account, elsewhere);
  }
  return has_more_room;
}

void Control::start(JobId id, const plan::Places& places, TimePoint now) {
  Job& job = ledger_.change(id);
  const std::vector<MemberSpec>& members = job.row.spec.members;
  const bool divided = members.size() == 1 && !members.front().count;
  // Members are numbered role by role, so that a task keeps its number whatever else the gang does.
  std::vector<std::uint32_t> first(members.size());
  for (std::size_t i = 1; i < members.size(); ++i) {
    first[i] = first[i - 1] + static_cast<std::uint32_t>(members[i - 1].count.value_or(1));
  }
  std::vector<std::uint32_t> chosen;
  for (const plan::Place& place : places) {
    const auto role = static_cast<std::size_t>(place.role);
    for (std::int32_t i = 0; i < place.tasks; ++i) {
      std::uint32_t member = divided ? 0 : first[role];
      for (auto at = job.tasks.find(member); at != job.tasks.end() && job.in_run(at->second);) {
        at = job.tasks.find(++member);
      }
      const std::int32_t slots = divided ? place.slots : members[role].slots;
      TaskRow& task = place_task(job, member, place, slots, now);
      task.role_rank = static_cast<std::int32_t>(member - first[role]);
      task.restarts = 0;
      chosen.push_back(member);
    }
  }
  for (const std::uint32_t member : chosen) {  // now that the size of the gang is known
    const TaskRow& task = job.tasks.at(member);
    step(task.id, lease::Place{task.agent}, now);
  }
}

TaskRow& Control::place_task(Job& job, std::uint32_t member, const plan::Place& place, std::int32_t slots,
                             TimePoint now) {
  TaskRow& task = ledger_.add_task({job.row.id, member});
  job.tally -= tally_of(job, task);
  task.role = place.role;
  task.run = job.row.runs;
  task.rank = static_cast<std::int32_t>(member);
  task.agent = place.agent;
  task.placed = now;
  task.started = task.ended = {};
  task.ending = {};
  task.restart_at = {};
  job.tally += tally_of(job, task);
  task.slots.clear();
  AgentEntry* agent = ledger_.find(place.agent);
  CHECK(agent != nullptr);
  for (std::size_t at = 0; at < agent->users.size() && task.slots.size() < static_cast<std::size_t>(slots); ++at) {
    if (!agent->is_free(at)) continue;
    agent->users[at] = task.id;
    task.slots.push_back(static_cast<std::int32_t>(at));
  }
  CHECK(task.slots.size() == static_cast<std::size_t>(slots));  // the planner counts what is free
  return task;
}

}  // namespace cadre::cluster::control
