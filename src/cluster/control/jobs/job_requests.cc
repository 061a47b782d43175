#include "cluster/control/jobs/job_requests.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "cluster/control/jobs/job_views.h"
#include "cluster/job_size.h"
#include "describe/utf8.h"

namespace cadre::cluster::control {
namespace {

std::string name_of(JobId id) { return "job " + std::to_string(id.value); }

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

}  // namespace

JobRequests::JobRequests(const Settings& settings, Ledger& ledger, Outbox& outbox, Pools& pools,
                         const Sessions& sessions, Jobs& jobs)
    : settings_(settings),
      ledger_(ledger),
      outbox_(outbox),
      pools_(pools),
      sessions_(sessions),
      jobs_(jobs),
      access_(ledger, outbox) {}

std::optional<std::string> JobRequests::no_memory_for(const std::string& user, std::int64_t bytes) const {
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

std::optional<requests::Failed> JobRequests::obstacle_to_submission(const Caller& caller, const JobSpec& spec) {
  const auto no = [](Errc code, std::string why) { return requests::Failed{code, std::move(why), {}}; };
  if (!access::may_read(caller.who, spec.workspace)) {
    return no(Errc::not_found, "workspace: there is no workspace '" + spec.workspace + "'; see cadre workspace list");
  }
  if (!access::may_create(caller.who, spec.workspace)) {
    return no(Errc::denied,
              "workspace: you have only the role viewer in '" + spec.workspace + "'; ask for the role editor");
  }
  if (const auto missing = pools_.missing(spec.pool)) return no(Errc::not_found, "pool: " + *missing);
  if (const auto why = sessions_.obstacle_to_joining(spec.session, caller.who.user)) return no(why->code, why->message);
  if (auto faults = faults_of(spec); !faults.empty()) {
    return requests::Failed{Errc::invalid, "the job is invalid", std::move(faults)};
  }
  const bool as_root = std::ranges::any_of(spec.members, [](const MemberSpec& one) { return one.policy.run_as_root; });
  if (as_root && !caller.who.is_admin) {
    return no(Errc::denied, "run_as_root: only admins of the cluster may run tasks as root; remove it");
  }
  const bool walled =
      std::ranges::all_of(spec.members, [](const MemberSpec& one) { return one.policy.isolation == Isolation::on; });
  if (!walled && !caller.who.task.empty()) {
    return no(Errc::denied,
              "isolation: a task may not start tasks without isolation; submit the job with a token of your own");
  }
  if (auto why = no_memory_for(caller.who.user, bytes_of(spec))) return no(Errc::denied, *std::move(why));
  if (auto why = pools_.never_fits(spec, caller.who.user, caller.now)) return no(Errc::invalid, *std::move(why));
  if (auto why = pools_.exceeds_quota(spec, caller.who.user)) return no(Errc::invalid, *std::move(why));
  return std::nullopt;
}

void JobRequests::submit(const Caller& caller, const JobSpec& spec) {
  if (auto why = obstacle_to_submission(caller, spec)) return outbox_.answer(caller.asker, *std::move(why));
  const Job& job = ledger_.add_job(spec, caller.who.user, caller.now);
  pools_.submit(job);
  ledger_.note(caller.now, job.row.id, "queued");
  outbox_.answer(caller.asker, view(job));
}

void JobRequests::serve(const Caller& caller, const requests::Submit& request) { submit(caller, request.job); }

void JobRequests::serve(const Caller& caller, const requests::RunTask& request) {
  JobSpec spec;
  spec.name = request.name;
  spec.workspace = request.workspace;
  spec.pool = request.pool;
  spec.priority = request.priority;
  spec.max_time = request.max_time;
  spec.members = {request.member};
  submit(caller, spec);
}

void JobRequests::serve(const Caller& caller, const requests::EndJob& request) {
  end(caller, request.job, request.grace);
}

void JobRequests::serve(const Caller& caller, const requests::KillJob& request) {
  end(caller, request.job, Duration{0});
}

void JobRequests::serve(const Caller& caller, const requests::EndTask& request) {
  end(caller, request.task, request.grace);
}

void JobRequests::serve(const Caller& caller, const requests::KillTask& request) {
  end(caller, request.task, Duration{0});
}

void JobRequests::end(const Caller& caller, JobId id, std::optional<Duration> chosen) {
  const Job* job = access_.own(caller, id);
  if (job == nullptr) return;
  if (job->row.stage != JobStage::ended) {
    const bool kills = chosen == Duration{0};
    if (JobHistory& history = ledger_.change(id).row.history; kills || history.stopped_by.empty()) {
      history.stopped_by = caller.who.user;
      history.stop = (kills ? "killed by " : "stopped by ") + caller.who.user;
    }
    jobs_.end(id, chosen, caller.now);
  }
  outbox_.answer(caller.asker, view(*job));
}

void JobRequests::end(const Caller& caller, TaskId id, std::optional<Duration> grace) {
  const Job* job = access_.own(caller, id.job);
  if (job == nullptr) return;
  const std::string number = std::to_string(id.job.value);
  if (job->tasks.size() > 1) {
    return outbox_.fail(caller.asker, Errc::conflict,
                        "the tasks of job " + number + " can only be stopped together; stop the job");
  }
  if (id.member != 0) {
    return outbox_.fail(caller.asker, Errc::not_found,
                        "there is no task " + to_string(id) + "; see cadre job describe " + number);
  }
  end(caller, id.job, grace);
}

void JobRequests::serve(const Caller& caller, const requests::MoveJob& request) {
  const Asker asker = caller.asker;
  const Job* job = access_.live(caller, request.job);
  const Job* other = job == nullptr ? nullptr : access_.live(caller, request.other);
  if (other == nullptr) return;
  const JobSpec& spec = job->row.spec;
  if (request.job == request.other) return outbox_.fail(asker, Errc::invalid, "a job cannot be moved ahead of itself");
  if (spec.pool != other->row.spec.pool || spec.priority != other->row.spec.priority) {
    return outbox_.fail(
        asker, Errc::invalid,
        name_of(request.job) + " and " + name_of(request.other) +
            " differ in pool or priority; only jobs with the same pool and priority can be ordered; change one "
            "with cadre job set");
  }
  // Between the other and its neighbour on that side.
  const double edge = other->row.position;
  const JobPlace place{spec.pool, spec.priority, edge};
  const double next =
      request.behind ? std::min(ledger_.index().next_position(place, request.job).value_or(edge + 2), edge + 2)
                     : std::max(ledger_.index().previous_position(place, request.job).value_or(edge - 2), edge - 2);
  const double position = edge + (next - edge) / 2;
  if (position == edge || position == next) {
    return outbox_.fail(asker, Errc::conflict,
                        "no queue position is left between these jobs; move one of them elsewhere first");
  }
  ledger_.move(request.job, {spec.pool, spec.priority, position});
  pools_.reorder(*job);
  ledger_.note(caller.now, request.job,
               (request.behind ? "moved behind " : "moved ahead of ") + std::to_string(request.other.value));
  outbox_.answer(asker, view(*job));
}

std::optional<Error> JobRequests::obstacle_to_pool(const Job& job, const std::string& pool, TimePoint now) {
  if (auto missing = pools_.missing(pool)) return Error{Errc::not_found, "pool: " + *missing};
  const bool is_held = std::any_of(job.tasks.begin(), job.tasks.end(),
                                   [](const auto& one) { return lease::current(one.second.lease).has_value(); });
  if (!waits(job.row.stage) || is_held) {
    return Error{
        Errc::conflict,
        name_of(job.row.id) + " has tasks on agents of its pool; the pool can be changed only while the job is queued"};
  }
  JobSpec spec = job.row.spec;
  spec.pool = pool;
  if (auto why = pools_.never_fits(spec, job.row.owner, now)) return Error{Errc::invalid, *std::move(why)};
  return std::nullopt;
}

std::optional<Error> JobRequests::obstacle_to_group(const Caller& caller, const Job& job) const {
  const std::string& group = job.row.spec.group;
  if (group.empty()) {
    return Error{
        Errc::invalid,
        name_of(job.row.id) + " has no group; weight and max_slots belong to a group, which is set at submission"};
  }
  for (const auto& [of, count] : ledger_.index().owners_of_group(job.row.spec.pool, group)) {
    if (access::may_change(caller.who, of.first, of.second)) continue;
    return Error{Errc::denied,
                 "group '" + group + "' also has jobs of other users; ask an admin of the cluster to change it"};
  }
  return std::nullopt;
}

void JobRequests::set_group(const Job& job, const requests::SetJob& request) {
  const std::string& pool = job.row.spec.pool;
  const GroupId id(job.row.spec.group);
  plan::Group settings = pools_.group(pool, id);
  settings.weight = request.weight.value_or(settings.weight);
  if (request.max_slots) settings.max_slots = request.max_slots;
  ledger_.put_group(pool, id, settings);
  pools_.set_group(pool, id, settings);
}

void JobRequests::serve(const Caller& caller, const requests::SetJob& request) {
  const auto no = [&](const Error& why) { outbox_.fail(caller.asker, why.code, why.message); };
  const Job* job = access_.live(caller, request.job);
  if (job == nullptr) return;
  const bool sets_group = request.weight || request.max_slots;
  if (sets_group) {
    if (const auto why = obstacle_to_group(caller, *job)) return no(*why);
  }
  if (request.pool && *request.pool != job->row.spec.pool) {
    if (const auto why = obstacle_to_pool(*job, *request.pool, caller.now)) return no(*why);
    pools_.remove(*job);
    ledger_.move(request.job, {*request.pool, job->row.spec.priority, job->row.position});
    // With its age and its place among the others, as if it had been there from the start.
    pools_.submit(*job);
  }
  if (sets_group) set_group(*job, request);
  if (request.priority) {
    ledger_.move(request.job, {job->row.spec.pool, *request.priority, job->row.position});
    pools_.reorder(*job);
  }
  ledger_.note(caller.now, request.job, "set");
  outbox_.answer(caller.asker, view(*job));
}

}  // namespace cadre::cluster::control
