#include "tests/sim/views.h"

#include <algorithm>
#include <utility>

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

Views::Held Views::held_by(const requests::Jobs& jobs) const {
  Held held;
  for (const requests::JobView& job : jobs.jobs) {
    for (const requests::TaskView& task : job.tasks) {
      if (!holds_lease(task.stage)) continue;
      ++held.tasks[task.agent];
      for (const std::int32_t slot : task.slots) {
        const auto [other, is_free] = held.slots.emplace(Slot{task.agent, slot}, task.id);
        if (is_free) continue;
        complain_("tasks " + to_string(task.id) + " and " + to_string(other->second) + " both hold slot " +
                  std::to_string(slot) + " of " + task.agent.value);
      }
    }
  }
  return held;
}

void Views::see_jobs(const requests::Jobs& jobs, Moment moment) {
  const auto slots = std::exchange(slots_seen_, {});
  const auto agents = std::exchange(agents_seen_, {});
  const std::optional<std::uint64_t> before = std::exchange(jobs_step_, std::nullopt);
  if (jobs.next) return;
  Held held = held_by(jobs);
  if (before == moment.step && held == held_) {
    for (const requests::Slots& one : slots) check_slots(one);
    for (const requests::Agents& one : agents) check_agents(one);
  }
  held_ = std::move(held);
  jobs_step_ = moment.step;
}

void Views::see_slots(const requests::Slots& slots, Moment moment) {
  slots_free_ = std::none_of(slots.slots.begin(), slots.slots.end(), [](const auto& slot) { return slot.used; });
  for (const requests::SlotView& slot : slots.slots) {
    if (slot.used && !slot.task) complain_("a slot of " + slot.agent.value + " is used by no task");
  }
  if (jobs_step_ == moment.step && !slots.next) slots_seen_.push_back(slots);
}

void Views::check_slots(const requests::Slots& slots) const {
  ++compared_;
  std::map<Slot, TaskId> used;
  std::set<cluster::AgentId> listed;
  for (const requests::SlotView& slot : slots.slots) {
    listed.insert(slot.agent);
    if (slot.used && slot.task) used.emplace(Slot{slot.agent, slot.slot}, *slot.task);
  }
  for (const auto& [slot, task] : used) {
    const auto held = held_.slots.find(slot);
    if (held != held_.slots.end() && held->second == task) continue;
    complain_("slot " + std::to_string(slot.second) + " of " + slot.first.value + " counts as used by task " +
              to_string(task) + ", which does not hold it");
  }
  for (const auto& [slot, task] : held_.slots) {
    if (!listed.contains(slot.first) || used.contains(slot)) continue;  // a removed agent is not listed
    complain_("task " + to_string(task) + " holds slot " + std::to_string(slot.second) + " of " + slot.first.value +
              ", which counts as free");
  }
}

void Views::see_agents(const requests::Agents& agents, Moment moment) {
  agents_ = agents.agents;
  for (const requests::AgentView& agent : agents_) {
    if (agent.slots_used > agent.slots) complain_("more slots are used than agent " + agent.id.value + " has");
  }
  if (jobs_step_ == moment.step) agents_seen_.push_back(agents);
}

void Views::check_agents(const requests::Agents& agents) const {
  ++compared_;
  for (const requests::AgentView& agent : agents.agents) {
    const auto used = std::count_if(held_.slots.begin(), held_.slots.end(),
                                    [&](const auto& one) { return one.first.first == agent.id; });
    const auto tasks = held_.tasks.find(agent.id);
    const std::int64_t count = tasks == held_.tasks.end() ? 0 : tasks->second;
    if (agent.slots_used == used && agent.tasks == count) continue;
    complain_("agent " + agent.id.value + " has " + std::to_string(agent.slots_used) + " slots in use by " +
              std::to_string(agent.tasks) + " tasks, and the list of jobs has " + std::to_string(used) + " by " +
              std::to_string(count));
  }
}

void Views::see_job(const requests::JobView& job, Moment moment) {
  const bool is_same = job_step_ == moment.step && job_.id == job.id && job_.version == job.version;
  for (const std::string& why : std::exchange(whys_, {})) {
    if (!is_same) continue;
    ++compared_;
    check_stage(job, why);
    check_plan(job, why, moment.now);
  }
  job_ = job;
  job_step_ = moment.step;
}

void Views::see_why(JobId id, const std::string& why, Moment moment) {
  if (why.empty() || why == "waits" || why.find("is not known") != std::string::npos) {
    return complain_("there is no reason why job " + std::to_string(id.value) + " is where it is: '" + why + "'");
  }
  if (job_step_ == moment.step && job_.id == id) whys_.push_back(why);
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
