#include "cluster/control/jobs/job_queries.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "cluster/control/agents/agent_views.h"
#include "cluster/control/jobs/history.h"
#include "cluster/control/jobs/job_views.h"

namespace cadre::cluster::control {
namespace {

/// So many jobs are looked at by one request, so that it does not keep others waiting: the next page goes on.
constexpr std::size_t jobs_at_once = 5'000;
/// So many numbers of jobs are looked at in the database.
constexpr std::uint64_t archived_at_once = 50'000;

/// So many jobs and agents are in a page of a snapshot.
constexpr std::size_t shown_most = 500;

bool is_in(const JobRow& row, requests::JobState state) {
  if (state != requests::JobState::failed) return state == requests::state_of(row.stage);
  return row.stage == JobStage::ended && !went_well({row.reason, row.code});
}

/// Whether all but its kind is as asked.
bool is_wanted(const JobRow& row, const requests::ListJobs& request) {
  return (request.ended || row.stage != JobStage::ended) && (!request.state || is_in(row, *request.state)) &&
         (!request.workspace || row.spec.workspace == *request.workspace) &&
         (!request.owner || row.owner == *request.owner) &&
         (!request.name || row.spec.name.find(*request.name) != std::string::npos);
}

/// `a, b, c and 5 more`
std::string some_of(const std::vector<std::string>& all) {
  constexpr std::size_t most = 8;
  std::string text;
  for (std::size_t i = 0; i < std::min(all.size(), most); ++i) text += (i == 0 ? "" : ", ") + all[i];
  return all.size() <= most ? text : text + " and " + std::to_string(all.size() - most) + " more";
}

}  // namespace

void JobQueries::serve(const Caller& caller, const requests::GetJob& request) {
  const Job* job = access_.seen(caller, request.job);
  if (job == nullptr) return;
  const bool may_change = job->row.stage != JobStage::ended;
  if (may_change && request.seen == job->version) return watchers_.add(request.job, caller.asker, *request.seen);
  outbox_.answer(caller.asker, whole_view(*job));
}

void JobQueries::serve(const Caller& caller, const requests::GetTask& request) {
  const TaskId id = request.task;
  const Job* job = access_.seen(caller, id.job);
  if (job == nullptr) return;
  const auto task = job->tasks.find(id.member);
  if (task != job->tasks.end() && job->in_run(task->second))
    return outbox_.answer(caller.asker, view(*job, task->second));
  const std::string number = std::to_string(id.job.value);
  const std::string stage(describe::name_of(job->row.stage));
  outbox_.fail(caller.asker, Errc::not_found,
               job->row.runs == 0 ? "job " + number + " has no tasks yet, it is " + stage + "; see cadre why " + number
                                  : "there is no task " + to_string(id) + "; see cadre job describe " + number);
}

JobRange JobQueries::range(const requests::ListJobs& request) const {
  const auto& jobs = ledger_.jobs();
  const JobId before = request.before.value_or(JobId{ledger_.last_job().value + 1});
  JobRange range{JobId{0}, before, request.ended && ledger_.ended() > ledger_.ended_in_memory()};
  std::size_t looked_at = 0;
  for (auto at = std::make_reverse_iterator(jobs.lower_bound(before)); at != jobs.rend(); ++at) {
    range.from = at->first;
    if (++looked_at == jobs_at_once) break;
  }
  if (looked_at < jobs_at_once) range.from = JobId{0};
  const std::uint64_t first_archived = before.value > archived_at_once ? before.value - archived_at_once : 0;
  if (range.has_archived) range.from = std::max(range.from, JobId{first_archived});
  return range;
}

requests::Jobs JobQueries::list(const access::Principal& who, const requests::ListJobs& request,
                                const std::vector<Job>& archived) const {
  JobRange range = this->range(request);
  const auto most = static_cast<std::size_t>(request.most);
  if (archived.size() > most) range.from = std::max(range.from, archived.back().row.id);  // there may be more below it
  requests::Jobs page;
  const auto& jobs = ledger_.jobs();
  auto at = std::make_reverse_iterator(jobs.lower_bound(range.before));
  auto old = archived.begin();
  const auto is_in_range = [&] { return at != jobs.rend() && at->first >= range.from; };
  while (is_in_range() || old != archived.end()) {
    const bool is_old = old != archived.end() && (!is_in_range() || old->row.id > at->first);
    const Job& job = is_old ? *old : at->second;
    const bool is_known = is_old && ledger_.find(job.row.id) != nullptr;  // what memory says is newer
    const requests::JobKind kind = job.row.spec.actor.empty() ? requests::JobKind::job : requests::JobKind::actor;
    const bool is_of_kind = !request.kind || *request.kind == kind;
    const bool counts = !is_known && is_wanted(job.row, request) && access::may_read(who, job.row.spec.workspace);
    if (counts && !is_of_kind) page.actors_skipped += kind == requests::JobKind::actor ? 1 : 0;
    if (counts && is_of_kind) {
      if (page.jobs.size() == most) break;
      page.jobs.push_back(view(job));
    }
    is_old ? void(++old) : void(++at);
  }
  const bool is_full = page.jobs.size() == most && (is_in_range() || old != archived.end());
  if (is_full) {
    page.next = page.jobs.back().id;
  } else if (range.from.value > 1) {
    page.next = range.from;
  }
  return page;
}

void JobQueries::serve(const Caller& caller, const requests::ListJobs& request) {
  outbox_.answer(caller.asker, list(caller.who, request, {}));
}

void JobQueries::serve(const Caller& caller, const requests::ListTasks& request) {
  requests::Tasks page;
  const auto& jobs = ledger_.jobs();
  const auto from = request.before ? jobs.lower_bound(*request.before) : jobs.end();
  std::int32_t count = 0;
  std::size_t looked_at = 0;
  JobId last;
  for (auto at = std::make_reverse_iterator(from); at != jobs.rend(); ++at) {
    if (count == request.most || looked_at++ == jobs_at_once) {
      page.next = last;
      break;
    }
    const Job& job = at->second;
    last = job.row.id;
    const bool is_wanted = request.ended || job.row.stage != JobStage::ended;
    if (!is_wanted || !access::may_read(caller.who, job.row.spec.workspace)) continue;
    ++count;
    for (const auto& [member, task] : job.tasks) {
      if (job.in_run(task)) page.tasks.push_back(view(job, task));
    }
  }
  outbox_.answer(caller.asker, std::move(page));
}

void JobQueries::serve(const Caller& caller, const requests::Why& request) {
  const Asker asker = caller.asker;
  const Job* job = access_.seen(caller, request.job);
  if (job == nullptr) return;
  const JobHistory& history = job->row.history;
  if (job->row.stage == JobStage::ended) return outbox_.answer(asker, requests::Text{ending_in_words(*job)});
  if (pools_.is_closed(*job)) {
    return outbox_.answer(asker, requests::Text{"pool '" + job->row.spec.pool +
                                                "' no longer exists; the job waits until it is configured again"});
  }
  const auto may_name = [&](const GangId& id) {
    const Job* other = ledger_.find(job_id(id));
    return other != nullptr && access::may_read(caller.who, other->row.spec.workspace);
  };
  std::string text = pools_.why(*job, may_name);
  // What the planner has forgotten since a restart is kept with the job.
  if (text == "is stopping" && !history.stop.empty()) text += ": " + history.stop;
  if (waits(job->row.stage)) {
    std::vector<std::string> off;
    for (const auto& [id, agent] : ledger_.agents()) {
      if (agent.row.pool != job->row.spec.pool) continue;
      if (const std::string obstacle = obstacle_to_work(agent, liveness_); !obstacle.empty()) {
        off.push_back(id.value + " is " + obstacle);
      }
    }
    text += off.empty() ? "" : "\n  agents that accept no work: " + some_of(off);
    text += pools_.closed_words(*job);
  }
  if (!history.attempts.empty() && job->row.stage != JobStage::stopping) {
    text += "\n  " + attempt_in_words(history.attempts.back());
  }
  outbox_.answer(asker, requests::Text{std::move(text)});
}

void JobQueries::serve(const Caller& caller, const requests::ListActors& request) {
  requests::Actors page;
  const auto& jobs = ledger_.jobs();
  const auto from = request.before ? jobs.lower_bound(*request.before) : jobs.end();
  std::size_t looked_at = 0;
  for (auto at = std::make_reverse_iterator(from); at != jobs.rend(); ++at) {
    if (looked_at++ == jobs_at_once) {
      page.next = std::prev(at)->first;
      break;
    }
    const JobRow& row = at->second.row;
    const bool is_wanted = !row.spec.actor.empty() && (request.ended || row.stage != JobStage::ended) &&
                           (!request.session || row.spec.session == *request.session) &&
                           (!request.workspace || row.spec.workspace == *request.workspace) &&
                           (!request.owner || row.owner == *request.owner);
    if (!is_wanted || !access::may_read(caller.who, row.spec.workspace)) continue;
    if (page.actors.size() == static_cast<std::size_t>(request.most)) {
      page.next = page.actors.back().id;
      break;
    }
    page.actors.push_back(actor_view(ledger_, at->second));
  }
  outbox_.answer(caller.asker, std::move(page));
}

requests::SnapshotPage JobQueries::snapshot(const access::Principal& who, const requests::GetSnapshot& request) const {
  requests::SnapshotPage page;
  requests::GetSnapshot next = request;
  std::size_t looked_at = 0;
  const auto is_full = [&] {
    return looked_at == jobs_at_once || page.part.jobs.size() + page.part.agents.size() == shown_most;
  };
  for (auto at = ledger_.jobs().upper_bound(request.after_job); !request.after_agent && at != ledger_.jobs().end();
       ++at) {
    if (is_full()) {
      page.next = next;
      return page;
    }
    ++looked_at;
    next.after_job = at->first;
    const Job& job = at->second;
    if (job.row.stage == JobStage::ended || !access::may_read(who, job.row.spec.workspace)) continue;
    page.part.jobs.push_back(view(job));
  }
  const AgentId after = request.after_agent.value_or(AgentId());
  next.after_agent = after;
  for (auto at = ledger_.agents().upper_bound(after); at != ledger_.agents().end(); ++at) {
    if (is_full()) {
      page.next = next;
      break;
    }
    page.part.agents.push_back(view(at->second, liveness_));
    next.after_agent = at->first;
  }
  return page;
}

}  // namespace cadre::cluster::control
