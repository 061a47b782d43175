#include <algorithm>

#include "cluster/control/control.h"

namespace cadre::cluster::control {
namespace {

/// Reports of one lease that are held back until its gang is complete; a supervisor has no more under way.
constexpr std::size_t deferred_max = 64;

/// A peer that said nothing for so many beats is silent; sooner, where agent_timeout is short.
constexpr int silent_beats = 3;

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

bool Control::is_silent(const AgentEntry& agent) const {
  // Agents that are cut off at once were heard up to a beat apart: when the first is lost, all are to count as silent.
  const Duration most = std::min<Duration>(silent_beats * settings_.beat_every, settings_.agent_timeout / 2);
  return !agent.peer || awake_.now() - agent.heard > most;
}

void Control::take_back(AgentEntry& agent, const std::set<LeaseId>& reported, TimePoint now) {
  std::map<JobId, std::vector<TaskId>> lost;
  for (const TaskId task : agent.lost) lost[task.job].push_back(task);
  for (const auto& [id, tasks] : lost) {
    const Job& job = *ledger_.find(id);
    const bool comes_back = std::all_of(tasks.begin(), tasks.end(), [&](TaskId task) {
      return job.in_run(*ledger_.find(task)) && can_come_back(job, *ledger_.find(task), agent, reported);
    });
    if (job.row.stage == JobStage::running) {  // the rest of it is still expected to go on
      for (const TaskId task : tasks) {
        if (comes_back) step(task, lease::Reported{*lost_of(*ledger_.find(task))}, now);
      }
      if (!comes_back) stop_tasks(id, lease::Reason::agent_lost, now);
      review(id, now);
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
      rejoining_.emplace(id, awake_.now() + settings_.agent_timeout);
    } else {
      for (const TaskId task : tasks) agent.rejoining.erase(task);  // its welcome tells it to end them
      give_up_lost(id, now);
    }
  }
}

void Control::rejoin(JobId id, TimePoint now) {
  rejoining_.erase(id);
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
    step(task, lease::Reported{held}, now);
    to_offer_.insert(held.agent);
  }
  resume(ledger_.change(id), now);
  for (const auto& [agent, messages] : deferred) {
    for (const AgentMessage& one : messages) {
      if (const auto* news = std::get_if<messages::Report>(&one)) report(*ledger_.find(agent), *news, now);
      if (const auto* news = std::get_if<messages::Exited>(&one)) exited(*ledger_.find(agent), *news, now);
    }
  }
}

void Control::give_up_lost(JobId id, TimePoint now) {
  rejoining_.erase(id);
  std::vector<TaskId> lost;
  for (const auto& [member, task] : ledger_.find(id)->tasks) {
    if (lost_of(task)) lost.push_back(task.id);
  }
  for (const TaskId task : lost) step(task, lease::NotReported{*lost_of(*ledger_.find(task))}, now);
}

void Control::stop_rejoining(AgentEntry& agent, TaskId task) {
  const auto deferred = agent.rejoining.extract(task);
  if (deferred.empty()) return;
  for (const AgentMessage& one : deferred.mapped()) {
    const auto* news = std::get_if<messages::Report>(&one);
    if (news != nullptr) refuse_report(agent, *news);
  }
  agent.kept_all = false;  // what it runs of that lease is to be ended, which its next hello begins
  send(agent, messages::HelloAgain{});
}

bool Control::defer(AgentEntry& agent, const AgentMessage& message) {
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
    refuse_report(agent, *report);
  } else if (report != nullptr || std::holds_alternative<messages::Exited>(message)) {
    waiting->second.push_back(message);
  }
  return true;
}

bool Control::is_in_doubt(const Job& job) {
  const auto may_go_on = [&](const auto& one) {
    return !job.in_run(one.second) || lost_of(one.second) || lease::current(one.second.lease);
  };
  if (job.row.stage != JobStage::running || !std::all_of(job.tasks.begin(), job.tasks.end(), may_go_on)) return false;
  const bool all_are_silent = std::all_of(job.tasks.begin(), job.tasks.end(), [&](const auto& one) {
    const auto held = lease::current(one.second.lease);
    const AgentEntry* agent = held ? ledger_.find(held->agent) : nullptr;
    return agent == nullptr || is_silent(*agent);
  });
  const auto known = in_doubt_.find(job.row.id);
  if (all_are_silent) {
    in_doubt_[job.row.id] = std::nullopt;
    return true;
  }
  if (known == in_doubt_.end()) return false;
  if (!known->second) known->second = awake_.now() + silent_beats * settings_.beat_every;
  return awake_.now() < *known->second;
}

void Control::tick_rejoining(TimePoint now) {
  std::vector<JobId> doubtful;
  for (const auto& [id, until] : in_doubt_) doubtful.push_back(id);
  for (const JobId id : doubtful) {
    const Job* job = ledger_.find(id);
    if (job == nullptr || job->row.stage != JobStage::running) {
      in_doubt_.erase(id);
    } else {
      review(id, now);
    }
  }
  std::vector<JobId> due;
  for (const auto& [id, until] : rejoining_) {
    const Job* job = ledger_.find(id);
    const bool is_over = job == nullptr || job->row.stage != JobStage::queued;
    if (is_over || awake_.now() >= until) due.push_back(id);
  }
  for (const JobId id : due) {
    rejoining_.erase(id);
    const Job* job = ledger_.find(id);
    if (job == nullptr || job->row.stage != JobStage::queued) continue;
    const bool waits = std::any_of(job->tasks.begin(), job->tasks.end(), [&](const auto& one) {
      const auto lost = lost_of(one.second);
      const AgentEntry* agent = lost ? ledger_.find(lost->agent) : nullptr;
      return agent != nullptr && agent->rejoining.contains(one.second.id);
    });
    if (waits) give_up_lost(id, now);  // else all of them are away again, and may come back
  }
}

}  // namespace cadre::cluster::control
