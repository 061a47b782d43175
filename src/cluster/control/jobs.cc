#include <algorithm>

#include "cluster/control/control.h"

namespace cadre::cluster::control {
namespace {

std::string name_of(JobId id) { return "job " + std::to_string(id.value); }

/// A planner that knows the same but for what `amend` changes.
template <class Amend>
void rebuild(plan::Planner& planner, TimePoint now, Amend amend) {
  plan::Snapshot snapshot = planner.snapshot(now);
  amend(snapshot);
  planner = plan::Planner(snapshot);
}

}  // namespace

const Job* Control::live_job(const Caller& caller, JobId id) {
  const Job* job = own_job(caller, id);
  if (job == nullptr || job->row.stage != JobStage::ended) return job;
  fail(caller.asker, Errc::conflict, name_of(id) + " has ended");
  return nullptr;
}

void Control::move_job(const Caller& caller, const requests::MoveJob& request, TimePoint now) {
  const Asker asker = caller.asker;
  const Job* job = live_job(caller, request.job);
  const Job* other = job == nullptr ? nullptr : live_job(caller, request.other);
  if (other == nullptr) return;
  const JobSpec& spec = job->row.spec;
  if (request.job == request.other) return fail(asker, Errc::invalid, "a job cannot be moved ahead of itself");
  if (spec.pool != other->row.spec.pool || spec.priority != other->row.spec.priority) {
    return fail(asker, Errc::invalid,
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
    return fail(asker, Errc::conflict,
                "no queue position is left between these jobs; move one of them elsewhere first");
  }
  ledger_.move(request.job, {spec.pool, spec.priority, position});
  Pool& pool = pool_of(*job);
  pool.planner.reorder(gang_id(request.job), spec.priority, position);
  pool.changed = true;
  ledger_.note(now, request.job,
               (request.behind ? "moved behind " : "moved ahead of ") + std::to_string(request.other.value));
  answer(asker, view(*job));
}

std::optional<Error> Control::obstacle_to_pool(const Job& job, const std::string& pool, TimePoint now) {
  if (auto missing = missing_pool(pool)) return Error{Errc::not_found, "pool: " + *missing};
  const bool is_held = std::any_of(job.tasks.begin(), job.tasks.end(),
                                   [](const auto& one) { return lease::current(one.second.lease).has_value(); });
  if (job.row.stage != JobStage::queued || is_held) {
    return Error{
        Errc::conflict,
        name_of(job.row.id) + " has tasks on agents of its pool; the pool can be changed only while the job is queued"};
  }
  JobSpec spec = job.row.spec;
  spec.pool = pool;
  if (auto why = never_fits(spec, job.row.owner, now)) return Error{Errc::invalid, *std::move(why)};
  return std::nullopt;
}

void Control::admit_again(const std::string& pool, TimePoint now) {
  rebuild(pools_.at(pool).planner, now, [&](plan::Snapshot& all) {
    for (plan::GangStatus& one : all.gangs) {
      if (const Job* job = ledger_.find(job_id(one.gang.id))) one.gang.exclude = admitted_gang(job->row).exclude;
    }
  });
  pools_.at(pool).changed = true;
}

void Control::set_job(const Caller& caller, const requests::SetJob& request, TimePoint now) {
  const Asker asker = caller.asker;
  const Job* job = live_job(caller, request.job);
  if (job == nullptr) return;
  const GroupId group(job->row.spec.group);
  const bool sets_group = request.weight || request.max_slots;
  if (sets_group && group.value.empty()) {
    return fail(
        asker, Errc::invalid,
        name_of(request.job) + " has no group; weight and max_slots belong to a group, which is set at submission");
  }
  if (sets_group) {
    for (const auto& [of, count] : ledger_.index().owners_of_group(job->row.spec.pool, group.value)) {
      if (access::may_change(caller.who, of.first, of.second)) continue;
      return fail(asker, Errc::denied,
                  "group '" + group.value + "' also has jobs of other users; ask an admin of the cluster to change it");
    }
  }
  if (request.pool && *request.pool != job->row.spec.pool) {
    if (const auto why = obstacle_to_pool(*job, *request.pool, now)) return fail(asker, why->code, why->message);
    pool_of(*job).planner.remove(gang_id(request.job));
    pool_of(*job).changed = true;
    ledger_.move(request.job, {*request.pool, job->row.spec.priority, job->row.position});
    // With its age and its place among the others, as if it had been there from the start.
    pool_of(*job).planner.submit(admitted_gang(job->row), job->row.queued);
  }
  Pool& pool = pool_of(*job);
  plan::Group settings;
  if (sets_group) {
    plan::Groups& groups = settings_.pools[job->row.spec.pool].groups;
    settings = groups[group];
    settings.weight = request.weight.value_or(settings.weight);
    if (request.max_slots) settings.max_slots = request.max_slots;
    groups[group] = settings;
    ledger_.put_group(job->row.spec.pool, group, settings);
    pool.ideal.set_group(group, settings);
    pool.planner.set_group(group, settings);
  }
  if (request.priority) {
    ledger_.move(request.job, {job->row.spec.pool, *request.priority, job->row.position});
    pool.planner.reorder(gang_id(request.job), *request.priority, job->row.position);
  }
  pool.changed = true;
  ledger_.note(now, request.job, "set");
  answer(asker, view(*job));
}

}  // namespace cadre::cluster::control
