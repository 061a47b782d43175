#include <algorithm>

#include "base/check.h"
#include "base/overloaded.h"
#include "cluster/control/control.h"
#include "cluster/control/history.h"

namespace cadre::cluster::control {
namespace {

// Whatever an agent sends: supervisors take no larger reports from tasks, and have less to say about an end.
constexpr std::size_t report_bytes_max = 32'768;
constexpr std::size_t detail_bytes_max = 8'192;

using lease::Reason;

/// The begin of a text in UTF-8, in whole characters.
std::string first_of(std::string text, std::size_t most) {
  if (text.size() <= most) return text;
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0U) == 0x80U) --most;
  text.resize(most);
  return text;
}

/// Whether something of it runs, or is to be started again while the rest goes on.
bool is_active(const TaskRow& task) { return lease::current(task.lease).has_value() || awaits_restart(task); }

/// For which of its tasks that did not end well a job has ended: the least of all.
struct Blame {
  enum class Kind : std::uint8_t { stopped_by_user, ended_all, failed };
  Kind kind = Kind::failed;
  TimePoint ended;
  auto operator<=>(const Blame&) const = default;
};
Blame blame_of(const MemberSpec& member, const TaskRow& task) {
  const lease::Ending& ending = *ending_of(task);
  if (ending.reason == Reason::killed_by_user) return {Blame::Kind::stopped_by_user, task.ended};
  return {ends_all(member, ending) ? Blame::Kind::ended_all : Blame::Kind::failed, task.ended};
}

}  // namespace

void Control::report(const AgentEntry& agent, const messages::Report& report, TimePoint now) {
  supervision::ReportAnswer answer{report.number, false, ""};
  const TaskRow* task = ledger_.find(report.lease.task);
  const lease::Held held{agent.row.agent.id, report.lease.epoch};
  if (report.body.size() > report_bytes_max) {
    answer.why = "the report is larger than 32 KiB";
  } else if (task != nullptr && lease::current(task->lease) == held) {
    answer.accepted = true;
    TaskRow& row = ledger_.change(report.lease.task);
    ++row.reports;
    row.last_report = report.body;
  } else {
    answer.why = "lease " + to_string(report.lease) + " has ended";
    ledger_.note(now, report.lease.task, "refused a report of lease " + to_string(report.lease));
  }
  send(agent, messages::ReportAnswer{report.lease, std::move(answer)});
}

void Control::refuse_report(const AgentEntry& agent, const messages::Report& report) {
  const std::string why = "lease " + to_string(report.lease) + " has ended";
  send(agent, messages::ReportAnswer{report.lease, {report.number, false, why}});
}

void Control::exited(const AgentEntry& agent, const messages::Exited& news, TimePoint now) {
  const AgentId id = agent.row.agent.id;
  const TaskRow* task = ledger_.find(news.lease.task);
  const lease::Held held{id, news.lease.epoch};
  if (task != nullptr && lease::current(task->lease) == held) {
    TaskEnding& told = ledger_.change(news.lease.task).ending = news.ending;
    told.detail = first_of(std::move(told.detail), detail_bytes_max);
    step(news.lease.task, lease::Exited{held, {news.ending.reason, news.ending.code}}, now);
    TaskRow& row = ledger_.change(news.lease.task);
    if (const lease::Ending* ending = ending_of(row)) row.ending.reason = ending->reason;
    judge_end(news.lease.task, now);
    review(news.lease.task.job, now);
  }
  send(agent, messages::EndStored{news.lease});
}

void Control::step(TaskId id, const lease::Event& event, TimePoint now) {
  const TaskRow* present = ledger_.find(id);
  CHECK(present != nullptr);
  lease::Step result = lease::step(present->lease, event);
  if (result.next != present->lease) {
    TaskRow& task = ledger_.change(id);
    const std::string stage_before = stage_name(task.lease);
    const auto before = lease::current(task.lease);
    const auto after = lease::current(result.next);
    if (before && before != after) {
      release_slots(task, before->agent);
      usages_.erase(id);
      const LeaseId over{id, before->epoch};
      end_execs([&](const Exec& exec) { return exec.lease == over; }, "the task has ended");
      end_inputs([&](const InputTarget& to, const Input&) { return to.first == over; },
                 {Errc::conflict, "the task has ended"});
      if (!sessions_.within(over).empty()) over_.push_back(over);  // closing them here would step tasks within a step
    }
    note_lost(task, Lost::no);
    Job& job = ledger_.change(id.job);
    job.tally -= tally_of(job, task);
    task.lease = std::move(result.next);
    job.tally += tally_of(job, task);
    note_lost(task, Lost::yes);
    if (after && before != after) take_slots(task);
    const std::string stage = stage_name(task.lease);
    if (stage == "running" && !before) task.ended = {};
    if (stage == "running" && stage_before == "placed") {
      task.started = now;
      start_execs({id, after->epoch});
    }
    if (stage == "ended") {
      task.ended = now;
      task.ending.reason = ending_of(task)->reason;
    }
    if (stage != stage_before) ledger_.note(now, id, stage);
  }
  for (const lease::Effect& effect : result.effects) perform(id, effect);
}

void Control::perform(TaskId id, const lease::Effect& effect) {
  const Job& job = *ledger_.find(id.job);
  const TaskRow& task = *ledger_.find(id);
  const auto to = [&](const lease::Held& held, messages::MasterMessage message) {
    if (const AgentEntry* agent = ledger_.find(held.agent)) send(*agent, std::move(message));
  };
  std::visit(overloaded{
                 [&](const lease::SendStart& one) { to(one.held, start_of(job, task)); },
                 [&](const lease::SendStop& one) {
                   const TaskPolicy& policy = job.row.spec.members[static_cast<std::size_t>(task.role)].policy;
                   Duration grace = one.why == Reason::preempted ? policy.preemption_grace : policy.grace;
                   if (job.row.grace) {
                     grace = one.why == Reason::killed_by_user ? *job.row.grace : std::min(grace, *job.row.grace);
                   }
                   to(one.held, messages::Stop{{id, one.held.epoch}, one.why, grace});
                 },
                 [&](const lease::SendKill& one) {
                   to(one.held, messages::Stop{{id, one.held.epoch}, Reason::killed_by_user, Duration{0}});
                 },
             },
             effect);
}

messages::Start Control::start_of(const Job& job, const TaskRow& task) const {
  const MemberSpec& member = job.row.spec.members[static_cast<std::size_t>(task.role)];
  const auto agent = ledger_.agents().find(task.agent);
  const bool owns_agent = agent != ledger_.agents().end() && owner_of(agent->second) == job.row.owner;
  const messages::OwnerRights rights{"", false, owns_agent};
  return {{task.id, task.lease.epoch},
          member.role,
          task.rank,
          task.role_rank,
          job.tally.members,
          task.slots,
          member.command,
          limits_of(member),
          member.policy,
          {},
          job.row.owner,
          rights};
}

void Control::set_restart(TaskId id, TimePoint at) {
  TaskRow& task = ledger_.change(id);
  Job& job = ledger_.change(id.job);
  job.tally -= tally_of(job, task);
  task.restart_at = at;
  job.tally += tally_of(job, task);
}

void Control::count_use(AgentEntry& agent, const TaskRow& task, std::int64_t sign) const {
  const MemberSpec& member = member_of(task.id);
  const auto slots = static_cast<std::int64_t>(task.slots.size());
  const std::int64_t core_slots = agent.row.agent.slot_kind == plan::SlotKind::cpu ? slots : 0;
  agent.cpus_used.milli += sign * (member.cpus.milli + core_slots * 1000);
  agent.memory_used.value += sign * member.memory.value;
}

void Control::take_slots(const TaskRow& task) {
  AgentEntry* agent = ledger_.find(lease::current(task.lease)->agent);
  if (agent == nullptr) return;
  if (agent->tasks.insert(task.id).second) count_use(*agent, task, 1);
  for (const std::int32_t slot : task.slots) {
    const auto at = static_cast<std::size_t>(slot);
    if (at >= agent->users.size()) agent->users.resize(at + 1);  // the agent offers it no longer
    agent->users[at] = task.id;
  }
}

void Control::note_lost(const TaskRow& task, Lost is) {
  const auto lost = lost_of(task);
  AgentEntry* agent = lost ? ledger_.find(lost->agent) : nullptr;
  if (agent == nullptr) return;
  if (is == Lost::yes) {
    agent->lost.insert(task.id);
  } else {
    agent->lost.erase(task.id);
    stop_rejoining(*agent, task.id);
  }
}

void Control::release_slots(const TaskRow& task, const AgentId& id) {
  AgentEntry* agent = ledger_.find(id);
  if (agent == nullptr) return;
  if (agent->tasks.erase(task.id) > 0) count_use(*agent, task, -1);
  bool shrinks = false;
  for (const std::int32_t slot : task.slots) {
    const auto at = static_cast<std::size_t>(slot);
    if (at >= agent->users.size() || agent->users[at] != task.id) continue;
    agent->users[at].reset();
    shrinks |= !agent->takes_work(at);
  }
  if (shrinks) to_offer_.insert(id);
}

void Control::review(JobId id, TimePoint now) {
  const Job& job = *ledger_.find(id);
  if (job.row.stage != JobStage::running && job.row.stage != JobStage::stopping) return;
  const Tally& tally = job.tally;
  if (tally.lost > 0 && tally.lost < tally.members && is_in_doubt(job)) return;
  in_doubt_.erase(id);
  // All of it may come back together.
  if (tally.lost > 0 && tally.lost == tally.members) return requeue(ledger_.change(id), now);
  const bool interrupted = tally.preempted > 0 || tally.agent_lost > 0;
  if (tally.lost > 0) {
    stop_tasks(id, Reason::agent_lost, now);
  } else if (tally.active > 0 && job.row.stage == JobStage::running && (tally.failed > 0 || interrupted)) {
    const Reason why = tally.agent_lost > 0 ? Reason::agent_lost : Reason::preempted;
    stop_tasks(id, tally.failed > 0 ? Reason::signalled : why, now);
  }
  if (tally.active == 0) finish(ledger_.change(id), now);
}

void Control::stop_tasks(JobId id, Reason why, TimePoint now) {
  Job& job = ledger_.change(id);
  if (job.row.stage == JobStage::running) {
    job.row.stage = JobStage::stopping;
    Pool& pool = pool_of(job);
    pool.planner.stopping(gang_id(id));
    pool.changed = true;
    ledger_.note(now, id, "stopping");
  }
  for (auto& [member, task] : job.tasks) {
    if (!is_active(task) && !lost_of(task)) continue;
    if (awaits_restart(task)) set_restart(task.id, {});
    step(task.id, lease::Stop{why}, now);
  }
}

void Control::finish(Job& job, TimePoint now) {
  const TaskRow* blamed = nullptr;
  Blame blame;
  bool interrupted = false;
  for (const auto& [member, task] : job.tasks) {
    const lease::Ending* ending = ending_of(task);
    if (!job.in_run(task) || ending == nullptr || went_well(*ending)) continue;
    interrupted |= was_interrupted(*ending);
    if (was_interrupted(*ending)) continue;
    const Blame own = blame_of(member_of(task.id), task);
    if (blamed != nullptr && blame <= own) continue;
    blamed = &task;
    blame = own;
  }
  // What has failed alone does not keep the others from running again.
  if (interrupted && (blamed == nullptr || blame.kind == Blame::Kind::failed)) return requeue(job, now);
  job.row.stage = JobStage::ended;
  job.row.ended = now;
  if (blamed != nullptr) {
    job.row.history.failed = blamed->id.member;
    job.row.reason = ending_of(*blamed)->reason;
    job.row.code = ending_of(*blamed)->code;
    if (job.row.detail.empty()) job.row.detail = blamed->ending.detail;
  }
  if (job.row.reason == Reason::killed_by_user && !job.row.why.empty()) job.row.detail = job.row.why;
  Pool& pool = pool_of(job);
  pool.planner.remove(gang_id(job.row.id));
  pool.changed = true;
  impaired_.erase(job.row.id);
  rejoining_.erase(job.row.id);
  if (job.row.spec.max_time) deadlines_.erase({job.row.started + *job.row.spec.max_time, job.row.id});
  ledger_.note(now, job.row.id, "ended");
  ledger_.note_ended(job.row.id);
}

void Control::requeue(Job& job, TimePoint now) {
  note_attempt(job, now);
  for (auto& [member, task] : job.tasks) {
    if (ending_of(task) != nullptr) step(task.id, lease::Again{}, now);
  }
  if (job.row.spec.max_time) deadlines_.erase({job.row.started + *job.row.spec.max_time, job.row.id});
  job.row.stage = JobStage::queued;
  job.row.queued = now;
  job.row.detail.clear();
  impaired_.erase(job.row.id);
  Pool& pool = pool_of(job);
  pool.planner.requeue(gang_id(job.row.id), now);
  pool.changed = true;
  ledger_.note(now, job.row.id, "queued again");
}

void Control::resume(Job& job, TimePoint now) {
  job.row.stage = JobStage::running;
  std::vector<Attempt>& attempts = job.row.history.attempts;
  if (!attempts.empty() && attempts.back().run == job.row.runs) attempts.pop_back();  // it was not over
  note_deadline(job);
  Pool& pool = pool_of(job);
  pool.planner.resume(gang_id(job.row.id), running_of(job));
  pool.changed = true;
  ledger_.note(now, job.row.id, "resumed");
}

plan::Running Control::running_of(const Job& job) const {
  plan::Running running{{}, job.row.started, job.row.started, job.row.stage == JobStage::stopping};
  for (const auto& [member, task] : job.tasks) {
    if (!job.in_run(task)) continue;
    const auto slots = static_cast<std::int32_t>(task.slots.size());
    const auto same = std::find_if(running.on.begin(), running.on.end(), [&task = task](const plan::Place& place) {
      return place.agent == task.agent && place.role == task.role;
    });
    if (same == running.on.end()) {
      running.on.push_back({task.agent, task.role, 1, slots});
    } else {
      ++same->tasks;
      same->slots += slots;
    }
  }
  return running;
}

}  // namespace cadre::cluster::control
