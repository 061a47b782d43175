#include "tests/sim/views.h"

#include <algorithm>

#include "describe/describe.h"

namespace cadre::sim {
namespace {

using namespace std::chrono_literals;
using cluster::JobId;
using cluster::JobStage;
using cluster::TaskId;
namespace requests = cluster::requests;

/// A plan is made whenever something has changed, so nobody waits for one that long.
constexpr Duration plan_max = 10s;

bool holds_lease(cluster::lease::Stage stage) {
  return stage == cluster::lease::Stage::placed || stage == cluster::lease::Stage::running ||
         stage == cluster::lease::Stage::stopping;
}

bool begins_with_any(const std::string& text, const std::vector<std::string>& beginnings) {
  return std::any_of(beginnings.begin(), beginnings.end(),
                     [&](const std::string& one) { return text.starts_with(one); });
}

}  // namespace

void Views::see_jobs(const requests::Jobs& jobs, Moment moment) {
  jobs_seen_.reset();
  if (jobs.next) return;
  held_.clear();
  tasks_.clear();
  for (const requests::JobView& job : jobs.jobs) {
    for (const requests::TaskView& task : job.tasks) {
      if (!holds_lease(task.stage)) continue;
      ++tasks_[task.agent];
      for (const std::int32_t slot : task.slots) {
        const auto [other, is_free] = held_.emplace(Slot{task.agent, slot}, task.id);
        if (is_free) continue;
        complain_("tasks " + to_string(task.id) + " and " + to_string(other->second) + " both hold slot " +
                  std::to_string(slot) + " of " + task.agent.value);
      }
    }
  }
  jobs_seen_ = moment;
}

void Views::see_slots(const requests::Slots& slots, Moment moment) {
  slots_free_ = std::none_of(slots.slots.begin(), slots.slots.end(), [](const auto& slot) { return slot.used; });
  used_.clear();
  slots_seen_ = moment;
  std::map<Slot, TaskId> used;
  for (const requests::SlotView& slot : slots.slots) {
    used_[slot.agent] += slot.used ? 1 : 0;
    if (slot.used && slot.task) used.emplace(Slot{slot.agent, slot.slot}, *slot.task);
    if (slot.used && !slot.task) complain_("a slot of " + slot.agent.value + " is used by no task");
  }
  if (jobs_seen_ != moment || slots.next) return;
  for (const auto& [slot, task] : used) {
    const auto held = held_.find(slot);
    if (held != held_.end() && held->second == task) continue;
    complain_("slot " + std::to_string(slot.second) + " of " + slot.first.value + " counts as used by task " +
              to_string(task) + ", which does not hold it");
  }
  for (const auto& [slot, task] : held_) {
    if (!used_.contains(slot.first) || used.contains(slot)) continue;  // a removed agent is not listed
    complain_("task " + to_string(task) + " holds slot " + std::to_string(slot.second) + " of " + slot.first.value +
              ", which counts as free");
  }
}

void Views::see_agents(const requests::Agents& agents, Moment moment) {
  agents_ = agents.agents;
  if (slots_seen_ != moment || jobs_seen_ != moment) return;
  for (const requests::AgentView& agent : agents_) {
    if (agent.slots_used > agent.slots) {
      complain_("more slots are used than agent " + agent.id.value + " has");
    } else if (agent.slots_used != used_[agent.id] || agent.tasks != tasks_[agent.id]) {
      complain_("agent " + agent.id.value + " has " + std::to_string(agent.slots_used) + " slots in use by " +
                std::to_string(agent.tasks) + " tasks, and the lists of slots and jobs have " +
                std::to_string(used_[agent.id]) + " by " + std::to_string(tasks_[agent.id]));
    }
  }
}

void Views::see_job(const requests::JobView& job, Moment moment) {
  job_ = job;
  job_seen_ = moment;
}

void Views::see_why(JobId id, const std::string& why, Moment moment) {
  if (why.empty() || why == "waits" || why.find("is not known") != std::string::npos) {
    return complain_("there is no reason why job " + std::to_string(id.value) + " is where it is: '" + why + "'");
  }
  if (job_seen_ != moment || job_.id != id) return;
  check_stage(job_, why);
  check_plan(job_, why, moment.now);
}

void Views::check_stage(const requests::JobView& job, const std::string& why) {
  static const std::map<JobStage, std::vector<std::string>> beginnings = {
      {JobStage::queued, {"waits for ", "waits: ", "preempts ", "no agents that accept work could hold "}},
      {JobStage::running, {"runs on "}},
      {JobStage::stopping, {"is stopping", "preempted"}},
      {JobStage::ended, {"it "}},
  };
  if (begins_with_any(why, beginnings.at(job.stage))) return;
  complain_("job " + std::to_string(job.id.value) + " is " + std::string(describe::name_of(job.stage)) +
            ", and the reason is: " + why);
}

void Views::check_plan(const requests::JobView& job, const std::string& why, TimePoint now) {
  if (!why.starts_with("waits for the next plan")) return void(unplanned_.erase(job.id));
  const auto [waiting, is_new] = unplanned_.try_emplace(job.id, Waiting{job.version, now});
  if (waiting->second.version != job.version) waiting->second = {job.version, now};
  if (!is_new && now - waiting->second.since > plan_max) {
    complain_("job " + std::to_string(job.id.value) + " waits for a plan for " +
              to_string(now - waiting->second.since));
  }
}

}  // namespace cadre::sim
