#include "cluster/control/tasks/tasks.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/overloaded.h"
#include "cluster/control/tasks/slots.h"

namespace cadre::cluster::control {
namespace {

// Whatever an agent sends: supervisors take no larger reports from tasks, and have less to say about an end.
constexpr std::size_t report_bytes_max = 32'768;
constexpr std::size_t detail_bytes_max = 8'192;

using lease::Reason;
using lease::Stage;

/// The begin of a text in UTF-8, in whole characters.
std::string first_of(std::string text, std::size_t most) {
  if (text.size() <= most) return text;
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0U) == 0x80U) --most;
  text.resize(most);
  return text;
}

}  // namespace

void Tasks::report(const AgentEntry& agent, const messages::Report& report, TimePoint now) {
  supervision::ReportAnswer answer{report.number, false, ""};
  const TaskRow* task = ledger_.find(report.lease.task);
  const lease::Held held{agent.row.agent.id, report.lease.epoch};
  if (report.body.size() > report_bytes_max) {
    answer.why = "it is larger than 32 KiB";
  } else if (task != nullptr && lease::current(task->lease) == held) {
    answer.accepted = true;
    if (!report.is_announcement) {
      TaskRow& row = ledger_.change(report.lease.task);
      ++row.reports;
      row.last_report = report.body;
    } else if (task->announcement != report.body) {  // one that comes again is no news
      ledger_.change(report.lease.task).announcement = report.body;
    }
  } else {
    answer.why = "lease " + to_string(report.lease) + " has ended";
    const std::string what = report.is_announcement ? "an announcement" : "a report";
    ledger_.note(now, report.lease.task, "refused " + what + " of lease " + to_string(report.lease));
  }
  outbox_.send(agent, messages::ReportAnswer{report.lease, std::move(answer)});
}

void Tasks::refuse_report(const AgentEntry& agent, const messages::Report& report) {
  const std::string why = "lease " + to_string(report.lease) + " has ended";
  outbox_.send(agent, messages::ReportAnswer{report.lease, {report.number, false, why}});
}

bool Tasks::exited(const AgentEntry& agent, const messages::Exited& news, TimePoint now) {
  const TaskRow* task = ledger_.find(news.lease.task);
  const lease::Held held{agent.row.agent.id, news.lease.epoch};
  if (task == nullptr || lease::current(task->lease) != held) return false;
  TaskEnding& told = ledger_.change(news.lease.task).ending = news.ending;
  told.detail = first_of(std::move(told.detail), detail_bytes_max);
  step(news.lease.task, lease::Exited{held, {news.ending.reason, news.ending.code}}, now);
  TaskRow& row = ledger_.change(news.lease.task);
  if (const lease::Ending* ending = ending_of(row)) row.ending.reason = ending->reason;
  return true;
}

void Tasks::acknowledge_end(const AgentEntry& agent, const LeaseId& lease) {
  outbox_.send(agent, messages::EndStored{lease});
}

void Tasks::note_usages(const AgentEntry& agent, const std::vector<messages::TaskUsage>& usages) {
  for (const messages::TaskUsage& one : usages) {
    const TaskRow* task = ledger_.find(one.lease.task);
    const lease::Held held{agent.row.agent.id, one.lease.epoch};
    if (task != nullptr && lease::current(task->lease) == held) ledger_.note_usage(task->id, one.usage);
  }
}

void Tasks::step(TaskId id, const lease::Event& event, TimePoint now) {
  const TaskRow* present = ledger_.find(id);
  CHECK(present != nullptr);
  lease::Step result = lease::step(present->lease, event);
  if (result.next != present->lease) {
    TaskRow& task = ledger_.change(id);
    Job& job = ledger_.change(id.job);
    const Stage stage_before = lease::stage_of(task.lease);
    const auto before = lease::current(task.lease);
    const auto after = lease::current(result.next);
    if (before && before != after) {
      if (release_slots(ledger_, task, before->agent)) pools_.offer_later(before->agent);
      job.usages.erase(id.member);
      execs_.lease_over({id, before->epoch});
      sessions_.note_over({id, before->epoch});
    }
    if (result.next.epoch != task.lease.epoch) task.announcement.clear();  // the process of the new lease has its own
    note_lost(task, Lost::no);
    job.tally -= tally_of(job, task);
    task.lease = std::move(result.next);
    job.tally += tally_of(job, task);
    note_lost(task, Lost::yes);
    if (after && before != after) take_slots(ledger_, task);
    const Stage stage = lease::stage_of(task.lease);
    if (stage == Stage::running && !before) task.ended = {};
    if (stage == Stage::running && stage_before == Stage::placed) {
      task.started = now;
      execs_.lease_started({id, after->epoch});
    }
    if (stage == Stage::ended) {
      task.ended = now;
      task.ending.reason = ending_of(task)->reason;
    }
    if (stage != stage_before) ledger_.note(now, id, std::string(describe::name_of(stage)));
  }
  for (const lease::Effect& effect : result.effects) perform(id, effect);
}

void Tasks::perform(TaskId id, const lease::Effect& effect) {
  const Job& job = *ledger_.find(id.job);
  const TaskRow& task = *ledger_.find(id);
  const auto to = [&](const lease::Held& held, messages::MasterMessage message) {
    if (const AgentEntry* agent = ledger_.find(held.agent)) outbox_.send(*agent, std::move(message));
  };
  std::visit(overloaded{
                 [&](const lease::SendStart& one) { to(one.held, start_of(job, task)); },
                 [&](const lease::SendStop& one) {
                   const TaskPolicy& policy = job.member_of(task).policy;
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

messages::Start Tasks::start_of(const Job& job, const TaskRow& task) const {
  const MemberSpec& member = job.member_of(task);
  const auto agent = ledger_.agents().find(task.agent);
  const bool owns_agent = agent != ledger_.agents().end() && pools_.owner_of(agent->second) == job.row.owner;
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

void Tasks::repeat_stop(TaskId id) {
  const auto* stopping = std::get_if<lease::Stopping>(&ledger_.find(id)->lease.stage);
  if (stopping != nullptr) perform(id, lease::SendStop{stopping->held, stopping->why});
}

void Tasks::set_restart(TaskId id, TimePoint at) {
  TaskRow& task = ledger_.change(id);
  Job& job = ledger_.change(id.job);
  job.tally -= tally_of(job, task);
  job.restarts.erase({task.restart_at, id.member});
  task.restart_at = at;
  if (awaits_restart(task)) job.restarts.emplace(at, id.member);
  job.tally += tally_of(job, task);
}

void Tasks::note_lost(const TaskRow& task, Lost is) {
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

void Tasks::stop_rejoining(AgentEntry& agent, TaskId task) {
  const auto deferred = agent.rejoining.extract(task);
  if (deferred.empty()) return;
  for (const AgentMessage& one : deferred.mapped()) {
    const auto* news = std::get_if<messages::Report>(&one);
    if (news != nullptr) refuse_report(agent, *news);
  }
  agent.kept_all = false;  // what it runs of that lease is to be ended, which its next hello begins
  outbox_.send(agent, messages::HelloAgain{});
}

void Tasks::start(JobId id, const plan::Places& places, TimePoint now) {
  Job& job = ledger_.change(id);
  const std::vector<MemberSpec>& members = job.row.spec.members;
  const bool divided = members.size() == 1 && !members.front().count;
  // Members are numbered role by role, so that a task keeps its number whatever else the gang does.
  std::vector<std::uint32_t> first(members.size());
  for (std::size_t i = 1; i < members.size(); ++i) {
    first[i] = first[i - 1] + static_cast<std::uint32_t>(members[i - 1].count.value_or(1));
  }
  std::vector<std::uint32_t> chosen;
  for (const plan::Place& on : places) {
    const auto role = static_cast<std::size_t>(on.role);
    for (std::int32_t i = 0; i < on.tasks; ++i) {
      std::uint32_t member = divided ? 0 : first[role];
      for (auto at = job.tasks.find(member); at != job.tasks.end() && job.in_run(at->second);) {
        at = job.tasks.find(++member);
      }
      const std::int32_t slots = divided ? on.slots : members[role].slots;
      TaskRow& task = place(job, member, {on.agent, on.role, 1, slots}, now);
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

void Tasks::start_again(TaskId id, TimePoint now) {
  const TaskRow& task = *ledger_.find(id);
  const auto slots = static_cast<std::int32_t>(task.slots.size());
  place(ledger_.change(id.job), id.member, {task.agent, task.role, 1, slots}, now);
  step(id, lease::Place{task.agent}, now);
}

TaskRow& Tasks::place(Job& job, std::uint32_t member, const plan::Place& place, TimePoint now) {
  TaskRow& task = ledger_.add_task({job.row.id, member});
  job.tally -= tally_of(job, task);
  task.role = place.role;
  task.run = job.row.runs;
  task.rank = static_cast<std::int32_t>(member);
  task.agent = place.agent;
  task.placed = now;
  task.started = task.ended = {};
  task.ending = {};
  job.restarts.erase({task.restart_at, member});
  task.restart_at = {};
  job.tally += tally_of(job, task);
  AgentEntry* agent = ledger_.find(place.agent);
  CHECK(agent != nullptr);
  task.slots = choose_slots(*agent, task.id, place.slots);
  return task;
}

}  // namespace cadre::cluster::control
