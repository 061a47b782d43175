#include "cluster/control/jobs/jobs.h"

#include <algorithm>
#include <map>
#include <vector>

#include "base/rounded.h"
#include "cluster/control/jobs/history.h"

namespace cadre::cluster::control {
namespace {

using lease::Reason;

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

bool ends_at_once(const JobRow& job) { return !job.spec.actor.empty() || job.grace == Duration{0}; }

void Jobs::restore(const Job& job) {
  job.row.stage == JobStage::queued ? pools_.submit(job) : pools_.adopt(job);
  restarts_.look_at(job.row.id);
  if (job.row.stage == JobStage::running) note_deadline(job);
  absences_.restore(job);
}

void Jobs::begin(JobId id, const plan::Places& places, TimePoint now) {
  Job& job = ledger_.change(id);
  ++job.row.runs;
  job.tally = {};
  job.row.stage = JobStage::running;
  job.row.started = now;
  note_deadline(job);
  ledger_.note(now, id, "placed");
  tasks_.start(id, places, now);
}

void Jobs::started(const AgentEntry& agent, const messages::Started& news, TimePoint now) {
  if (ledger_.find(news.lease.task) == nullptr) return;
  tasks_.step(news.lease.task, lease::Started{{agent.row.agent.id, news.lease.epoch}}, now);
  review(news.lease.task.job, now);
}

void Jobs::exited(const AgentEntry& agent, const messages::Exited& news, TimePoint now) {
  if (tasks_.exited(agent, news, now)) {
    restarts_.judge(news.lease.task, now);
    review(news.lease.task.job, now);
  }
  tasks_.acknowledge_end(agent, news.lease);
}

void Jobs::compare(const AgentEntry& agent, const std::set<LeaseId>& reported, Rebooted rebooted, TimePoint now) {
  std::set<JobId> touched;
  const std::set<TaskId> expected = agent.tasks;
  for (const TaskId id : expected) {
    const TaskRow& task = *ledger_.find(id);
    const lease::Held held = *lease::current(task.lease);
    const bool runs = reported.contains({id, held.epoch});
    const bool is_placed = lease::stage_of(task.lease) == lease::Stage::placed;
    if (!runs && is_placed && rebooted == Rebooted::yes) {
      tasks_.step(id, lease::Exited{held, {Reason::agent_lost, 0}}, now);
    } else {
      tasks_.step(id, runs ? lease::Event(lease::Reported{held}) : lease::Event(lease::NotReported{held}), now);
    }
    touched.insert(id.job);
  }
  for (const JobId job : touched) review(job, now);
}

std::set<JobId> Jobs::lose_tasks_on(const AgentEntry& agent, TimePoint now) {
  const std::set<TaskId> tasks = agent.tasks;
  std::set<JobId> touched;
  for (const TaskId task : tasks) {
    tasks_.step(task, lease::AgentLost{agent.row.agent.id}, now);
    touched.insert(task.job);
  }
  return touched;
}

void Jobs::stop_tasks_on(const AgentEntry& agent, const std::function<bool(const TaskRow&)>& chosen,
                         const std::string& why, TimePoint now) {
  std::set<JobId> stopped;
  const std::set<TaskId> tasks = agent.tasks;
  for (const TaskId id : tasks) {
    if (!chosen(*ledger_.find(id))) continue;
    if (!stopped.insert(id.job).second) continue;
    if (std::string& stop = ledger_.change(id.job).row.history.stop; stop.empty()) stop = why;
    stop_tasks(id.job, Reason::preempted, now);
  }
}

void Jobs::review(JobId id, TimePoint now) {
  const Job& job = *ledger_.find(id);
  if (job.row.stage != JobStage::running && job.row.stage != JobStage::stopping) return;
  const Tally& tally = job.tally;
  if (tally.lost > 0 && tally.lost < tally.members && absences_.is_in_doubt(job)) return;
  absences_.end_doubt(id);
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

void Jobs::stop_tasks(JobId id, Reason why, TimePoint now) {
  Job& job = ledger_.change(id);
  if (job.row.stage == JobStage::running) {
    job.row.stage = JobStage::stopping;
    pools_.stopping(job);
    ledger_.note(now, id, "stopping");
  }
  for (auto& [member, task] : job.tasks) {
    if (!is_active(task) && !lost_of(task)) continue;
    if (awaits_restart(task)) tasks_.set_restart(task.id, {});
    tasks_.step(task.id, lease::Stop{why}, now);
  }
}

void Jobs::end(JobId id, std::optional<Duration> chosen, TimePoint now) {
  const Job* job = ledger_.find(id);
  if (chosen) {
    std::optional<Duration>& grace = ledger_.change(id).row.grace;
    grace = std::min(grace.value_or(*chosen), *chosen);
  }
  if (ends_at_once(job->row)) {
    for (const auto& [member, task] : job->tasks) {
      if (const auto held = lease::current(task.lease)) sessions_.note_over({task.id, held->epoch});
    }
  }
  if (waits(job->row.stage)) {
    stop_tasks(id, Reason::killed_by_user, now);  // one may be left on a lost agent
    Job& row = ledger_.change(id);
    row.row.reason = Reason::killed_by_user;
    row.row.detail = "stopped while it was " + std::string(describe::name_of(row.row.stage));
    finish(row, now);
  } else {
    std::map<TaskId, lease::State> before;
    for (const auto& [member, task] : job->tasks) before.emplace(task.id, task.lease);
    stop_tasks(id, Reason::killed_by_user, now);
    for (const auto& [member, task] : job->tasks) {  // a shorter grace must reach those that are stopping already
      if (chosen && before.at(task.id) == task.lease) tasks_.repeat_stop(task.id);
    }
    review(id, now);  // of one whose tasks wait for a restart nothing runs
  }
}

void Jobs::finish(Job& job, TimePoint now) {
  const TaskRow* blamed = nullptr;
  Blame blame;
  bool interrupted = false;
  for (const auto& [member, task] : job.tasks) {
    const lease::Ending* ending = ending_of(task);
    if (!job.in_run(task) || ending == nullptr || went_well(*ending)) continue;
    interrupted |= was_interrupted(*ending);
    if (was_interrupted(*ending)) continue;
    const Blame own = blame_of(job.member_of(task), task);
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
  pools_.remove(job);
  restarts_.forget(job.row.id);
  absences_.stop_waiting(job.row.id);
  forget_deadline(job);
  ledger_.note(now, job.row.id, "ended");
  ledger_.note_ended(job.row.id);
}

void Jobs::requeue(Job& job, TimePoint now) {
  note_attempt(job, now);
  for (auto& [member, task] : job.tasks) {
    if (ending_of(task) != nullptr) tasks_.step(task.id, lease::Again{}, now);
  }
  forget_deadline(job);
  job.row.stage = JobStage::queued;
  job.row.queued = now;
  job.row.detail.clear();
  restarts_.forget(job.row.id);
  pools_.requeue(job);
  ledger_.note(now, job.row.id, "queued again");
}

void Jobs::resume(JobId id, TimePoint now) {
  Job& job = ledger_.change(id);
  job.row.stage = JobStage::running;
  std::vector<Attempt>& attempts = job.row.history.attempts;
  if (!attempts.empty() && attempts.back().run == job.row.runs) attempts.pop_back();  // it was not over
  note_deadline(job);
  pools_.resume(job);
  ledger_.note(now, id, "resumed");
}

void Jobs::note_deadline(const Job& job) {
  if (job.row.spec.max_time) deadlines_.emplace(job.row.started + *job.row.spec.max_time, job.row.id);
}

void Jobs::forget_deadline(const Job& job) {
  if (job.row.spec.max_time) deadlines_.erase({job.row.started + *job.row.spec.max_time, job.row.id});
}

void Jobs::tick(TimePoint now) {
  tick_restarts(now);
  tick_deadlines(now);
}

void Jobs::tick_restarts(TimePoint now) {
  const std::set<JobId> impaired = restarts_.impaired();
  for (const JobId id : impaired) {
    if (const auto why = restarts_.start_due(id, now)) {
      stop_tasks(id, *why, now);
      review(id, now);
    }
    if (auto why = restarts_.shortage(*ledger_.find(id), now)) {
      ledger_.change(id).row.detail = *std::move(why);
      stop_tasks(id, Reason::signalled, now);
      review(id, now);
    }
    restarts_.look_at(id);
  }
}

void Jobs::tick_deadlines(TimePoint now) {
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
    const std::string why = "it ran longer than its max_time of " + rounded(*job->row.spec.max_time);
    ledger_.change(id).row.why = why;
    ledger_.note(now, id, why);
    end(id, std::nullopt, now);
  }
}

}  // namespace cadre::cluster::control
