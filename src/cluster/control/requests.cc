#include <algorithm>

#include "base/check.h"
#include "base/overloaded.h"
#include "cluster/control/control.h"
#include "cluster/control/history.h"
#include "cluster/job_size.h"
#include "describe/utf8.h"

namespace cadre::cluster::control {
namespace {

/// So many jobs are looked at by one request, so that it does not keep others waiting: the next page goes on.
constexpr std::size_t jobs_at_once = 5'000;
/// So many numbers of jobs are looked at in the database.
constexpr std::uint64_t archived_at_once = 50'000;

std::string no_job(JobId id) { return "there is no job " + std::to_string(id.value) + "; see cadre job list"; }

/// What is wrong with a job beyond what its description says.
std::vector<requests::Fault> faults_of(const JobSpec& spec) {
  std::vector<requests::Fault> faults;
  std::set<std::string> roles;
  std::int64_t to_start = 0;
  for (const MemberSpec& member : spec.members) {
    if (!roles.insert(member.role).second) {
      faults.push_back({"members", "role '" + member.role + "' occurs twice; give each role a unique name"});
    }
    to_start += member.elastic_min.value_or(member.count.value_or(1));
  }
  if (to_start == 0) {
    faults.push_back({"members", "are all elastic down to 0; give at least one of them a minimum above 0"});
  }
  const auto check_name = [&](const std::string& path, const std::string& name) {
    if (describe::is_printable(name)) return;
    faults.push_back({path, "has control characters; remove them"});
  };
  check_name("name", spec.name);
  check_name("group", spec.group);
  check_name("actor", spec.actor);
  for (const MemberSpec& member : spec.members) check_name("members", member.role);
  const bool divided = spec.members.size() == 1 && !spec.members.front().count;
  if (spec.single_agent && spec.uneven) {
    faults.push_back({"uneven", "cannot be combined with single_agent; remove one of them"});
  } else if (!divided && (spec.single_agent || spec.uneven)) {
    faults.push_back({spec.uneven ? "uneven" : "single_agent",
                      "requires a single member without a count; remove it, or remove the count"});
  }
  const bool is_of_one = spec.members.size() == 1 && spec.members.front().count.value_or(1) == 1 &&
                         (!divided || spec.single_agent || spec.members.front().slots <= 1);
  if (!spec.actor.empty() && !is_of_one) {
    faults.push_back({"actor", "requires a job of one task; use one member with count 1"});
  }
  return faults;
}

bool is_in(const JobRow& row, requests::JobState state) {
  using requests::JobState;
  switch (state) {
    case JobState::queued: return row.stage == JobStage::queued;
    case JobState::running: return row.stage == JobStage::running;
    case JobState::stopping: return row.stage == JobStage::stopping;
    case JobState::ended: return row.stage == JobStage::ended;
    case JobState::failed: return row.stage == JobStage::ended && !went_well({row.reason, row.code});
  }
  return false;
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

JobSpec spec_of(const requests::RunTask& request) {
  JobSpec spec;
  spec.name = request.name;
  spec.workspace = request.workspace;
  spec.pool = request.pool;
  spec.priority = request.priority;
  spec.max_time = request.max_time;
  spec.members = {request.member};
  return spec;
}

}  // namespace

void Control::answer(Asker asker, requests::Reply reply) { outcome_.answers.push_back({asker, std::move(reply)}); }

void Control::fail(Asker asker, Errc code, std::string message) {
  answer(asker, requests::Failed{code, std::move(message), {}});
}

std::optional<requests::Reply> Control::take_answer(Asker asker) {
  if (outcome_.answers.empty() || outcome_.answers.back().asker != asker) return std::nullopt;
  requests::Reply reply = std::move(outcome_.answers.back().reply);
  outcome_.answers.pop_back();
  return reply;
}

void Control::ask(Asker asker, const access::Principal& who, const requests::Request& request, TimePoint now) {
  awake_.advance(now);
  const Caller caller{asker, who};
  const auto end_task = [&](TaskId task, std::optional<Duration> grace) {
    if (job_of_one(caller, task) != nullptr) end_job(caller, task.job, grace, now);
  };
  std::visit(overloaded{
                 [&](const requests::Submit& one) { submit(caller, one.job, now); },
                 [&](const requests::RunTask& one) { submit(caller, spec_of(one), now); },
                 [&](const requests::ListJobs& one) { answer(asker, list_jobs(who, one, {})); },
                 [&](const requests::GetJob& one) { get_job(caller, one); },
                 [&](const requests::EndJob& one) { end_job(caller, one.job, one.grace, now); },
                 [&](const requests::KillJob& one) { end_job(caller, one.job, Duration{0}, now); },
                 [&](const requests::MoveJob& one) { move_job(caller, one, now); },
                 [&](const requests::SetJob& one) { set_job(caller, one, now); },
                 [&](const requests::Why& one) { why(caller, one); },
                 [&](const requests::ListTasks& one) { list_tasks(caller, one); },
                 [&](const requests::GetTask& one) { get_task(caller, one.task); },
                 [&](const requests::EndTask& one) { end_task(one.task, one.grace); },
                 [&](const requests::KillTask& one) { end_task(one.task, Duration{0}); },
                 [&](const requests::RunExec& one) { exec(caller, one); },
                 [&](const requests::SendInput& one) { send_input(caller, one); },
                 [&](const requests::ListActors& one) { list_actors(caller, one); },
                 [&](const requests::ListSessions& one) { list_sessions(caller, one); },
                 [&](const requests::KeepSession& one) { keep_session(caller, one, now); },
                 [&](const requests::EndSession& one) { end_session(caller, one, now); },
                 [&](const requests::ListAgents& one) { list_agents(asker, one); },
                 [&](const requests::GetAgent& one) { get_agent(asker, one.agent); },
                 [&](const requests::SetAgent& one) { set_agent(caller, one, now); },
                 [&](const requests::RemoveAgent& one) { remove_agent(caller, one, now); },
                 [&](const requests::SetSlot& one) { set_slot(caller, one, now); },
                 [&](const requests::ListSlots& one) { list_slots(caller, one); },
                 [&](const requests::ListPools&) { list_pools(asker); },
                 [&](const requests::GetStatus&) { answer(asker, status()); },
                 [&](const requests::MakeJoinToken&) {
                   fail(asker, Errc::invalid, "a join token cannot be created without the keys");
                 },
             },
             request);
}

void Control::ask(Asker asker, const access::Principal& who, const requests::Request& request, const Job& archived,
                  TimePoint now) {
  archived_ = &archived;
  ask(asker, who, request, now);
  archived_ = nullptr;
}

const Job* Control::seen_job(const Caller& caller, JobId id) {
  const Job* job = ledger_.find(id);
  if (job == nullptr && archived_ != nullptr && archived_->row.id == id) job = archived_;
  if (job != nullptr && access::may_read(caller.who, job->row.spec.workspace)) return job;
  fail(caller.asker, Errc::not_found, no_job(id));  // who may not see it is not told that it is there
  return nullptr;
}

const Job* Control::own_job(const Caller& caller, JobId id) {
  const Job* job = seen_job(caller, id);
  if (job == nullptr || access::may_change(caller.who, job->row.spec.workspace, job->row.owner)) return job;
  fail(caller.asker, Errc::denied,
       "job " + std::to_string(id.value) + " belongs to " + job->row.owner + "; only " + job->row.owner +
           " (as editor) and admins of workspace '" + job->row.spec.workspace + "' may change it");
  return nullptr;
}

const Job* Control::job_of_one(const Caller& caller, TaskId id) {
  const Job* job = own_job(caller, id.job);
  if (job == nullptr) return nullptr;
  const std::string number = std::to_string(id.job.value);
  if (job->tasks.size() > 1) {
    fail(caller.asker, Errc::conflict, "the tasks of job " + number + " can only be stopped together; stop the job");
    return nullptr;
  }
  if (id.member == 0) return job;
  fail(caller.asker, Errc::not_found, "there is no task " + to_string(id) + "; see cadre job describe " + number);
  return nullptr;
}

bool Control::is_used(const std::string& workspace) const { return ledger_.index().has_workspace(workspace); }

std::int64_t Control::jobs_of(const std::string& user) const { return ledger_.live_of(user).jobs; }

std::optional<std::string> Control::no_memory_for(const std::string& user, std::int64_t bytes) const {
  const auto full = [&](const char* whose, std::int64_t held, ByteSize most, const char* key) {
    return std::string("the specifications of ") + whose + " that have not ended take " + to_string(ByteSize{held}) +
           ", and this one " + to_string(ByteSize{bytes}) + "; the limit is " + to_string(most) +
           ". Wait until some have ended, put large data into files (--dir), or ask an admin to raise cluster." + key;
  };
  const std::int64_t own = ledger_.live_of(user).bytes;
  if (own + bytes > settings_.job_bytes_of_user_max.value) {
    return full("your jobs", own, settings_.job_bytes_of_user_max, "job_bytes_of_user_max");
  }
  const std::int64_t all = ledger_.live().bytes;
  if (all + bytes <= settings_.job_bytes_max.value) return std::nullopt;
  return full("all jobs", all, settings_.job_bytes_max, "job_bytes_max");
}

std::optional<std::string> Control::never_fits(const JobSpec& spec, const std::string& owner, TimePoint now) {
  const bool has_agents = std::any_of(ledger_.agents().begin(), ledger_.agents().end(),
                                      [&](const auto& agent) { return agent.second.row.pool == spec.pool; });
  if (!has_agents) return std::nullopt;  // nobody knows yet
  plan::Planner& ideal = pools_.at(spec.pool).ideal;
  plan::Gang gang = gang_of({0}, 0, spec);
  const std::vector<AgentId> closed = closed_to(owner, spec.pool);
  gang.exclude.insert(gang.exclude.end(), closed.begin(), closed.end());
  ideal.submit(gang, now);
  const plan::Plan plan = ideal.plan(now);
  const std::string why = ideal.why(gang.id);
  ideal.remove(gang.id);
  if (!plan.start.empty()) return std::nullopt;
  return "it can never run: " + why + closed_words(closed);
}

std::optional<std::string> Control::exceeds_quota(const JobSpec& spec, const std::string& user) const {
  const std::int64_t slots = slots_to_start(gang_of({0}, 0, spec).wants);
  for (const AccountId& account : {account_of_user(user), account_of_workspace(spec.workspace)}) {
    const auto quota = pools_.at(spec.pool).planner.quota_of(account);
    if (!quota || slots <= *quota) continue;
    return "it can never run: it needs " + std::to_string(slots) + " slots to start, but " + account.value +
           " may hold " + std::to_string(*quota) + " at most; request fewer slots, or ask an admin to raise the quota";
  }
  return std::nullopt;
}

void Control::submit(const Caller& caller, const JobSpec& spec, TimePoint now) {
  const Asker asker = caller.asker;
  if (!access::may_read(caller.who, spec.workspace)) {
    return fail(asker, Errc::not_found,
                "workspace: there is no workspace '" + spec.workspace + "'; see cadre workspace list");
  }
  if (!access::may_create(caller.who, spec.workspace)) {
    return fail(asker, Errc::denied,
                "workspace: you have only the role viewer in '" + spec.workspace + "'; ask for the role editor");
  }
  if (const auto missing = missing_pool(spec.pool)) return fail(asker, Errc::not_found, "pool: " + *missing);
  if (const auto why = obstacle_to_session(caller, spec.session)) return fail(asker, why->code, why->message);
  if (auto faults = faults_of(spec); !faults.empty()) {
    return answer(asker, requests::Failed{Errc::invalid, "the job is invalid", std::move(faults)});
  }
  const bool as_root = std::ranges::any_of(spec.members, [](const MemberSpec& one) { return one.policy.run_as_root; });
  if (as_root && !caller.who.is_admin) {
    return fail(asker, Errc::denied, "run_as_root: only admins of the cluster may run tasks as root; remove it");
  }
  const bool walled =
      std::ranges::all_of(spec.members, [](const MemberSpec& one) { return one.policy.isolation == Isolation::on; });
  if (!walled && !caller.who.task.empty()) {
    return fail(asker, Errc::denied,
                "isolation: a task may not start tasks without isolation; submit the job with a token of your own");
  }
  if (auto why = no_memory_for(caller.who.user, bytes_of(spec))) return fail(asker, Errc::denied, *std::move(why));
  if (auto why = never_fits(spec, caller.who.user, now)) return fail(asker, Errc::invalid, *std::move(why));
  if (auto why = exceeds_quota(spec, caller.who.user)) return fail(asker, Errc::invalid, *std::move(why));
  Pool& pool = pools_.at(spec.pool);
  Job& job = ledger_.add_job(spec, caller.who.user, now);
  pool.planner.submit(admitted_gang(job.row), now);
  pool.changed = true;
  ledger_.note(now, job.row.id, "queued");
  answer(asker, view(job));
}

void Control::end_job(const Caller& caller, JobId id, std::optional<Duration> chosen, TimePoint now) {
  const Job* job = own_job(caller, id);
  if (job == nullptr) return;
  if (job->row.stage != JobStage::ended) {
    const bool kills = chosen == Duration{0};
    if (JobHistory& history = ledger_.change(id).row.history; kills || history.stopped_by.empty()) {
      history.stopped_by = caller.who.user;
      history.stop = (kills ? "killed by " : "stopped by ") + caller.who.user;
    }
    end(id, chosen, now);
  }
  answer(caller.asker, view(*job));
}

void Control::end(JobId id, std::optional<Duration> chosen, TimePoint now) {
  const Job* job = ledger_.find(id);
  if (chosen) {
    std::optional<Duration>& grace = ledger_.change(id).row.grace;
    grace = std::min(grace.value_or(*chosen), *chosen);
  }
  if (ends_at_once(job->row)) {
    for (const auto& [member, task] : job->tasks) {
      if (const auto held = lease::current(task.lease)) over_.push_back({task.id, held->epoch});
    }
  }
  if (job->row.stage == JobStage::queued) {
    stop_tasks(id, lease::Reason::killed_by_user, now);  // one may be left on a lost agent
    Job& row = ledger_.change(id);
    row.row.reason = lease::Reason::killed_by_user;
    row.row.detail = "stopped while it was queued";
    finish(row, now);
  } else {
    std::map<TaskId, lease::State> before;
    for (const auto& [member, task] : job->tasks) before.emplace(task.id, task.lease);
    stop_tasks(id, lease::Reason::killed_by_user, now);
    for (const auto& [member, task] : job->tasks) {  // a shorter grace must reach those that are stopping already
      const auto* stopping = std::get_if<lease::Stopping>(&task.lease.stage);
      if (stopping == nullptr || !chosen || before.at(task.id) != task.lease) continue;
      perform(task.id, lease::SendStop{stopping->held, stopping->why});
    }
    review(id, now);  // of one whose tasks wait for a restart nothing runs
  }
}

void Control::get_job(const Caller& caller, const requests::GetJob& request) {
  const Job* job = seen_job(caller, request.job);
  if (job == nullptr) return;
  const bool may_change = job->row.stage != JobStage::ended;
  if (!may_change || !request.seen || *request.seen != job->version) return answer(caller.asker, whole_view(*job));
  if (watching_ >= settings_.watchers_max) {
    return fail(caller.asker, Errc::unavailable, "too many clients wait for changes; try again later");
  }
  ++watching_;
  watchers_[request.job].emplace_back(caller.asker, *request.seen);
}

void Control::get_task(const Caller& caller, TaskId id) {
  const Job* job = seen_job(caller, id.job);
  if (job == nullptr) return;
  const auto task = job->tasks.find(id.member);
  if (task != job->tasks.end() && job->in_run(task->second)) return answer(caller.asker, view(*job, task->second));
  const std::string number = std::to_string(id.job.value);
  const std::string stage(describe::name_of(job->row.stage));
  fail(caller.asker, Errc::not_found,
       job->row.runs == 0 ? "job " + number + " has no tasks yet, it is " + stage + "; see cadre why " + number
                          : "there is no task " + to_string(id) + "; see cadre job describe " + number);
}

Control::JobRange Control::list_range(const requests::ListJobs& request) const {
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

requests::Jobs Control::list_jobs(const access::Principal& who, const requests::ListJobs& request,
                                  const std::vector<Job>& archived) const {
  JobRange range = list_range(request);
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

void Control::list_tasks(const Caller& caller, const requests::ListTasks& request) {
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
  answer(caller.asker, std::move(page));
}

void Control::why(const Caller& caller, const requests::Why& request) {
  const Asker asker = caller.asker;
  const Job* job = seen_job(caller, request.job);
  if (job == nullptr) return;
  const JobHistory& history = job->row.history;
  if (job->row.stage == JobStage::ended) return answer(asker, requests::Text{ending_in_words(*job)});
  if (pool_of(*job).closed) {
    return answer(asker, requests::Text{"pool '" + job->row.spec.pool +
                                        "' no longer exists; the job waits until it is configured again"});
  }
  const auto may_name = [&](const GangId& id) {
    const Job* other = ledger_.find(job_id(id));
    return other != nullptr && access::may_read(caller.who, other->row.spec.workspace);
  };
  std::string text = pool_of(*job).planner.why(gang_id(request.job), may_name);
  // What the planner has forgotten since a restart is kept with the job.
  if (text == "is stopping" && !history.stop.empty()) text += ": " + history.stop;
  if (job->row.stage == JobStage::queued) {
    std::vector<std::string> off;
    for (const auto& [id, agent] : ledger_.agents()) {
      if (agent.row.pool != job->row.spec.pool) continue;
      if (const std::string obstacle = obstacle_to_work(agent); !obstacle.empty()) {
        off.push_back(id.value + " is " + obstacle);
      }
    }
    text += off.empty() ? "" : "\n  agents that accept no work: " + some_of(off);
    text += closed_words(closed_to(job->row.owner, job->row.spec.pool));
  }
  if (!history.attempts.empty() && job->row.stage != JobStage::stopping) {
    text += "\n  " + attempt_in_words(history.attempts.back());
  }
  answer(asker, requests::Text{std::move(text)});
}

}  // namespace cadre::cluster::control
