#include "cluster/control/jobs/rejoin.h"

#include <algorithm>
#include <map>
#include <vector>

namespace cadre::cluster::control {
namespace {

/// Reports of one lease that are held back until its gang is complete; a supervisor has no more under way.
constexpr std::size_t deferred_max = 64;

bool has_slots(const AgentEntry& agent, const TaskRow& task) {
  return std::all_of(task.slots.begin(), task.slots.end(), [&](std::int32_t slot) {
    const auto at = static_cast<std::size_t>(slot);
    return at < agent.row.slot_states.size() && agent.row.slot_states[at] != SlotState::disabled && !agent.users[at];
  });
}

/// Whether a lost task may run again where it ran: its agent still runs it, and has its slots to itself.
bool can_come_back(const Job& job, const TaskRow& task, const AgentEntry& agent, const std::set<LeaseId>& reported) {
  const auto lost = lost_of(task);
  return lost && lost->agent == agent.row.agent.id && reported.contains({task.id, lost->epoch}) &&
         agent.row.pool == job.row.spec.pool && agent.row.agent.enabled && has_slots(agent, task);
}

/// A strict fence ends tasks before their agent is lost: there is nothing to wait for.
bool has_no_strict_fence(const Job& job) {
  return std::none_of(job.row.spec.members.begin(), job.row.spec.members.end(),
                      [](const MemberSpec& member) { return member.policy.fence == Fence::strict; });
}

bool is_lost_whole(const Job& job) {
  return std::all_of(job.tasks.begin(), job.tasks.end(),
                     [&](const auto& one) { return !job.in_run(one.second) || lost_of(one.second).has_value(); });
}

}  // namespace

void Rejoin::take_back(AgentEntry& agent, const std::set<LeaseId>& reported, TimePoint now) {
  std::map<JobId, std::vector<TaskId>> lost;
  for (const TaskId task : agent.lost) lost[task.job].push_back(task);
  for (const auto& [id, tasks] : lost) {
    const Job& job = *ledger_.find(id);
    const bool comes_back = std::all_of(tasks.begin(), tasks.end(), [&](TaskId task) {
      return job.in_run(*ledger_.find(task)) && can_come_back(job, *ledger_.find(task), agent, reported);
    });
    if (job.row.stage == JobStage::running) {  // the rest of it is still expected to go on
      for (const TaskId task : tasks) {
        if (comes_back) tasks_.step(task, lease::Reported{*lost_of(*ledger_.find(task))}, now);
      }
      if (!comes_back) jobs_.stop_tasks(id, lease::Reason::agent_lost, now);
      jobs_.review(id, now);
      continue;
    }
    if (comes_back) {
      for (const TaskId task : tasks) agent.rejoining[task];
    }
    const auto is_there = [&](const auto& one) {
      const TaskRow& task = one.second;
      const AgentEntry* at = job.in_run(task) ? ledger_.find(task.agent) : nullptr;
      return !job.in_run(task) ||
             (at != nullptr && at->rejoining.contains(task.id) && at->row.agent.enabled && has_slots(*at, task));
    };
    if (comes_back && std::all_of(job.tasks.begin(), job.tasks.end(), is_there)) {
      rejoin(id, now);
    } else if (comes_back && is_lost_whole(job) && has_no_strict_fence(job)) {
      absences_.await_rest(id);
    } else {
      for (const TaskId task : tasks) agent.rejoining.erase(task);  // its welcome tells it to end them
      give_up_lost(id, now);
    }
  }
}

void Rejoin::rejoin(JobId id, TimePoint now) {
  absences_.stop_waiting(id);
  std::vector<TaskId> tasks;
  for (const auto& [member, task] : ledger_.find(id)->tasks) {
    if (ledger_.find(id)->in_run(task)) tasks.push_back(task.id);
  }
  std::map<AgentId, std::vector<AgentMessage>> deferred;
  for (const TaskId task : tasks) {
    const lease::Held held = *lost_of(*ledger_.find(task));
    AgentEntry& agent = *ledger_.find(held.agent);
    auto waited = agent.rejoining.extract(task);
    for (AgentMessage& one : waited.mapped()) deferred[held.agent].push_back(std::move(one));
    tasks_.step(task, lease::Reported{held}, now);
    pools_.offer_later(held.agent);
  }
  jobs_.resume(id, now);
  for (const auto& [agent, messages] : deferred) {
    for (const AgentMessage& one : messages) {
      if (const auto* news = std::get_if<messages::Report>(&one)) tasks_.report(*ledger_.find(agent), *news, now);
      if (const auto* news = std::get_if<messages::Exited>(&one)) jobs_.exited(*ledger_.find(agent), *news, now);
    }
  }
}

void Rejoin::give_up_lost(JobId id, TimePoint now) {
  absences_.stop_waiting(id);
  std::vector<TaskId> lost;
  for (const auto& [member, task] : ledger_.find(id)->tasks) {
    if (lost_of(task)) lost.push_back(task.id);
  }
  for (const TaskId task : lost) tasks_.step(task, lease::NotReported{*lost_of(*ledger_.find(task))}, now);
}

bool Rejoin::defer(AgentEntry& agent, const AgentMessage& message) {
  if (agent.rejoining.empty()) return false;
  const auto lease_in = [](const auto& one) -> std::optional<LeaseId> {
    if constexpr (requires { one.lease; }) return one.lease;
    return std::nullopt;
  };
  const std::optional<LeaseId> lease = std::visit(lease_in, message);
  const auto waiting = lease ? agent.rejoining.find(lease->task) : agent.rejoining.end();
  if (waiting == agent.rejoining.end() || lost_of(*ledger_.find(lease->task))->epoch != lease->epoch) return false;
  const auto* report = std::get_if<messages::Report>(&message);
  if (report != nullptr && waiting->second.size() >= deferred_max) {
    tasks_.refuse_report(agent, *report);
  } else if (report != nullptr || std::holds_alternative<messages::Exited>(message)) {
    waiting->second.push_back(message);
  }
  return true;
}

void Rejoin::tick(TimePoint now) {
  for (const JobId id : absences_.in_doubt()) {
    const Job* job = ledger_.find(id);
    if (job == nullptr || job->row.stage != JobStage::running) {
      absences_.end_doubt(id);
    } else {
      jobs_.review(id, now);
    }
  }
  for (const JobId id : absences_.take_due()) {
    const Job* job = ledger_.find(id);
    if (job == nullptr || !waits(job->row.stage)) continue;
    const bool waits = std::any_of(job->tasks.begin(), job->tasks.end(), [&](const auto& one) {
      const auto lost = lost_of(one.second);
      const AgentEntry* agent = lost ? ledger_.find(lost->agent) : nullptr;
      return agent != nullptr && agent->rejoining.contains(one.second.id);
    });
    if (waits) give_up_lost(id, now);  // else all of them are away again, and may come back
  }
}

}  // namespace cadre::cluster::control
