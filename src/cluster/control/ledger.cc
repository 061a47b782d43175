#include "cluster/control/ledger.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "cluster/control/change_kinds.h"
#include "cluster/job_size.h"
#include "cluster/restart.h"

namespace cadre::cluster::control {

plan::Gang gang_of(const JobRow& row) {
  plan::Gang gang = gang_of(row.id, row.position, row.spec);
  gang.accounts = {account_of_user(row.owner), account_of_workspace(row.spec.workspace)};
  gang.submission = row.id.value;
  return gang;
}

std::optional<lease::Held> lost_of(const TaskRow& task) {
  const auto* queued = std::get_if<lease::Queued>(&task.lease.stage);
  return queued == nullptr ? std::nullopt : queued->lost;
}

bool awaits_restart(const TaskRow& task) { return task.restart_at != TimePoint{}; }

bool is_active(const TaskRow& task) { return lease::current(task.lease).has_value() || awaits_restart(task); }

const lease::Ending* ending_of(const TaskRow& task) {
  const auto* ended = std::get_if<lease::Ended>(&task.lease.stage);
  return ended == nullptr ? nullptr : &ended->ending;
}

Tally tally_of(const Job& job, const TaskRow& task) {
  Tally tally;
  if (!job.in_run(task)) return tally;
  tally.members = 1;
  tally.active = is_active(task) ? 1 : 0;
  tally.lost = lost_of(task).has_value() ? 1 : 0;
  const lease::Ending* ending = ending_of(task);
  const bool has_failed = ending != nullptr && !went_well(*ending);
  if (job.member_of(task).minimum) tally.roles[task.role] = {1, awaits_restart(task) || has_failed ? 1 : 0};
  if (!has_failed) return tally;
  tally.preempted = ending->reason == lease::Reason::preempted ? 1 : 0;
  tally.agent_lost = ending->reason == lease::Reason::agent_lost ? 1 : 0;
  tally.failed = !was_interrupted(*ending) && ends_all(job.member_of(task), *ending) ? 1 : 0;
  return tally;
}

Tally tally_of(const Job& job) {
  Tally tally;
  for (const auto& [member, task] : job.tasks) tally += tally_of(job, task);
  return tally;
}

bool ends_all(const MemberSpec& member, const lease::Ending& ending) {
  return !member.restart || (ending.reason == lease::Reason::exited && ending.code == restart::exit_with_gang);
}

bool went_well(const lease::Ending& ending) { return ending.reason == lease::Reason::exited && ending.code == 0; }

bool was_interrupted(const lease::Ending& ending) {
  return ending.reason == lease::Reason::preempted || ending.reason == lease::Reason::agent_lost;
}

Ledger::Ledger(const Rows& rows, EndedKept ended_kept, std::uint64_t first_version)
    : ended_kept_(ended_kept), last_version_(first_version), last_job_(rows.last_job) {
  for (const AgentRow& row : rows.agents) add_agent(row);
  agents_changed_.clear();
  for (const JobRow& row : rows.jobs) {
    Job& job = jobs_.emplace(row.id, Job{row, {}, 0, bytes_of(row.spec)}).first->second;
    number(job);
    count(job, 1);
    actors_ += row.spec.actor.empty() ? 0 : 1;
    index_.add(row);
  }
  for (const TaskRow& row : rows.tasks) {
    const auto job = jobs_.find(row.id.job);
    CHECK(job != jobs_.end());
    job->second.tasks.emplace(row.id.member, row);
  }
  for (const JobRow& row : rows.jobs) {
    if (row.stage == JobStage::ended) note_ended(row.id);
  }
  for (auto& [id, job] : jobs_) {
    job.tally = tally_of(job);
    for (const auto& [member, task] : job.tasks) {
      if (awaits_restart(task)) job.restarts.emplace(task.restart_at, member);
    }
  }
  ended_total_ = std::max(rows.ended_jobs, ended_total_);
  ended_bytes_total_ = std::max(rows.ended_bytes, ended_bytes_total_);
  forget_ended();
}

void Ledger::note_ended(JobId id) {
  Job& job = jobs_.at(id);
  actors_ -= job.row.spec.actor.empty() ? 0 : 1;
  count(job, -1);
  index_.remove(job.row);
  ++ended_total_;
  ended_bytes_total_ += job.bytes;
  for (const auto& [member, task] : job.tasks) {
    job.bytes += static_cast<std::int64_t>(task.last_report.size() + task.announcement.size());
    job.bytes += static_cast<std::int64_t>(task.ending.detail.size());
  }
  ended_bytes_ += job.bytes;
  ended_.push_back(id);
}

void Ledger::count(const Job& job, std::int64_t jobs) {
  Live& own = live_of_[job.row.owner];
  for (Live* live : {&live_, &own}) {
    live->jobs += jobs;
    live->bytes += jobs * job.bytes;
  }
  if (own.jobs == 0) live_of_.erase(job.row.owner);
}

Ledger::Live Ledger::live_of(const std::string& owner) const {
  const auto found = live_of_.find(owner);
  return found == live_of_.end() ? Live{} : found->second;
}

void Ledger::forget_ended() {
  while (ended_.size() > ended_kept_.jobs || ended_bytes_ > ended_kept_.bytes) {
    const auto job = jobs_.find(ended_.front());
    CHECK(job != jobs_.end());
    forget(job->second);
    ended_.pop_front();
  }
}

void Ledger::forget(const Job& job) {
  ended_bytes_ -= job.bytes;
  if (const auto session = of_sessions_.find(job.row.spec.session); session != of_sessions_.end()) {
    session->second.erase(job.version);
    if (session->second.empty()) of_sessions_.erase(session);
  }
  const JobId id = job.row.id;
  jobs_.erase(id);
}

void Ledger::note_pruned(JobId id, std::int64_t bytes) {
  --ended_total_;
  ended_bytes_total_ -= bytes;
  const auto kept = std::find(ended_.begin(), ended_.end(), id);
  if (kept == ended_.end() || jobs_changed_.contains(id)) return;
  forget(jobs_.at(id));
  ended_.erase(kept);
}

void Ledger::number(Job& job) {
  const std::uint64_t before = std::exchange(job.version, ++last_version_);
  if (job.row.spec.session.value.empty()) return;
  std::map<std::uint64_t, JobId>& jobs = of_sessions_[job.row.spec.session];
  jobs.erase(before);
  jobs.emplace(job.version, job.row.id);
}

const std::map<std::uint64_t, JobId>& Ledger::jobs_of(const SessionId& session) const {
  static const std::map<std::uint64_t, JobId> none;
  const auto found = of_sessions_.find(session);
  return found == of_sessions_.end() ? none : found->second;
}

const Job* Ledger::find(JobId id) const {
  const auto found = jobs_.find(id);
  return found == jobs_.end() ? nullptr : &found->second;
}

const TaskRow* Ledger::find(TaskId id) const {
  const Job* job = find(id.job);
  if (job == nullptr) return nullptr;
  const auto found = job->tasks.find(id.member);
  return found == job->tasks.end() ? nullptr : &found->second;
}

AgentEntry* Ledger::find(const AgentId& id) {
  const auto found = agents_.find(id);
  return found == agents_.end() ? nullptr : &found->second;
}

const AgentEntry* Ledger::find(const AgentId& id) const {
  const auto found = agents_.find(id);
  return found == agents_.end() ? nullptr : &found->second;
}

Job& Ledger::change(JobId id) {
  const auto found = jobs_.find(id);
  CHECK(found != jobs_.end());
  jobs_changed_.insert(id);
  number(found->second);  // every time: it may have been shown in between
  return found->second;
}

TaskRow& Ledger::change(TaskId id) {
  Job& job = change(id.job);
  const auto found = job.tasks.find(id.member);
  CHECK(found != job.tasks.end());
  tasks_changed_.insert(id);
  return found->second;
}

AgentEntry& Ledger::change(const AgentId& id) {
  agents_changed_.insert(id);
  AgentEntry* agent = find(id);
  CHECK(agent != nullptr);
  return *agent;
}

void Ledger::note_usage(TaskId id, const Usage& usage) {
  const auto found = jobs_.find(id.job);
  CHECK(found != jobs_.end());
  found->second.usages[id.member] = usage;
}

Job& Ledger::add_job(JobSpec spec, std::string owner, TimePoint now) {
  ++last_job_.value;
  JobRow row;
  row.id = last_job_;
  row.spec = std::move(spec);
  row.owner = std::move(owner);
  row.position = static_cast<double>(last_job_.value);
  row.submitted = row.queued = now;
  new_jobs_.insert(row.id);
  jobs_changed_.insert(row.id);
  const JobId id = row.id;
  actors_ += row.spec.actor.empty() ? 0 : 1;
  const std::int64_t bytes = bytes_of(row.spec);
  Job& job = jobs_.emplace(id, Job{std::move(row), {}, 0, bytes}).first->second;
  number(job);
  count(job, 1);
  index_.add(job.row);
  return job;
}

void Ledger::move(JobId id, const JobPlace& place) {
  JobRow& row = change(id).row;
  index_.remove(row);
  row.spec.pool = place.pool;
  row.spec.priority = place.priority;
  row.position = place.position;
  index_.add(row);
}

TaskRow& Ledger::add_task(TaskId id) {
  Job& job = change(id.job);
  tasks_changed_.insert(id);
  TaskRow& row = job.tasks[id.member];
  row.id = id;
  return row;
}

AgentEntry& Ledger::add_agent(AgentRow row) {
  const AgentId id = row.agent.id;
  agents_changed_.insert(id);
  AgentEntry& entry = agents_[id];
  entry.row = std::move(row);
  entry.users.resize(entry.row.slots.size());
  return entry;
}

void Ledger::remove_agent(const AgentId& id) {
  agents_.erase(id);
  agents_changed_.erase(id);
  writes_.agents_gone.push_back(id);
}

void Ledger::put_group(const std::string& pool, const GroupId& id, const plan::Group& settings) {
  writes_.groups.push_back({pool, id, settings});
}

void Ledger::note(TimePoint now, JobId id, std::string what) {
  const Job* job = find(id);
  if (job == nullptr) return;
  writes_.changes.push_back(
      {0, now, std::string(job_changes.noun), std::to_string(id.value), std::move(what), job->row.spec.workspace});
}

void Ledger::note(TimePoint now, TaskId id, std::string what) {
  const Job* job = find(id.job);
  if (job == nullptr) return;
  writes_.changes.push_back(
      {0, now, std::string(task_changes.noun), to_string(id), std::move(what), job->row.spec.workspace});
}

void Ledger::note(TimePoint now, const AgentId& id, std::string what) {
  writes_.changes.push_back({0, now, std::string(agent_changes.noun), id.value, std::move(what), ""});
}

Writes Ledger::take() {
  for (const JobId id : jobs_changed_) {
    (new_jobs_.contains(id) ? writes_.new_jobs : writes_.jobs).push_back(jobs_.at(id).row);
  }
  for (const TaskId id : tasks_changed_) writes_.tasks.push_back(jobs_.at(id.job).tasks.at(id.member));
  for (const AgentId& id : agents_changed_) writes_.agents.push_back(agents_.at(id).row);
  new_jobs_.clear();
  jobs_changed_.clear();
  tasks_changed_.clear();
  agents_changed_.clear();
  forget_ended();
  return std::exchange(writes_, {});
}

}  // namespace cadre::cluster::control
