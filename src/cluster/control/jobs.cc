#include <algorithm>

#include "base/check.h"
#include "cluster/control/control.h"

namespace cadre::cluster::control {
namespace {

std::string name_of(JobId id) { return "job " + std::to_string(id.value); }

/// A planner that knows the same but for what `amend` changes.
template <class Amend>
void rebuild(Planner& planner, TimePoint now, Amend amend) {
  Snapshot snapshot = planner.snapshot(now);
  amend(snapshot);
  planner = Planner(snapshot);
}

GangStatus& status_of(Snapshot& snapshot, JobId id) {
  const auto found = std::find_if(snapshot.gangs.begin(), snapshot.gangs.end(),
                                  [&](const GangStatus& status) { return status.gang.id == gang_id(id); });
  CHECK(found != snapshot.gangs.end());
  return *found;
}

}  // namespace

const Job* Control::live_job(const Guest& guest, JobId id) {
  const Job* job = own_job(guest, id);
  if (job == nullptr || job->row.stage != JobStage::ended) return job;
  fail(guest.asker, Errc::conflict, name_of(id) + " has ended");
  return nullptr;
}

void Control::move_job(const Guest& guest, const requests::MoveJob& request, TimePoint now) {
  const Asker asker = guest.asker;
  const Job* job = live_job(guest, request.job);
  const Job* other = job == nullptr ? nullptr : live_job(guest, request.other);
  if (other == nullptr) return;
  const JobSpec& spec = job->row.spec;
  if (request.job == request.other) return fail(asker, Errc::invalid, "a job cannot be moved ahead of itself");
  if (spec.pool != other->row.spec.pool || spec.priority != other->row.spec.priority) {
    return fail(asker, Errc::invalid,
                name_of(request.job) + " and " + name_of(request.other) +
                    " differ in pool or priority; only equals have an order; change it with cadre job set");
  }
  // Between the other and its neighbour on that side.
  const double edge = other->row.position;
  double next = request.behind ? edge + 2 : edge - 2;
  for (const auto& [id, one] : ledger_.jobs()) {
    const bool counts = one.row.stage != JobStage::ended && id != request.job && one.row.spec.pool == spec.pool &&
                        one.row.spec.priority == spec.priority;
    if (!counts) continue;
    if (request.behind && one.row.position > edge) next = std::min(next, one.row.position);
    if (!request.behind && one.row.position < edge) next = std::max(next, one.row.position);
  }
  const double position = edge + (next - edge) / 2;
  if (position == edge || position == next) {
    return fail(asker, Errc::conflict, "there is no room left between these jobs; move one of them elsewhere first");
  }
  ledger_.change(request.job).row.position = position;
  Pool& pool = pool_of(*job);
  rebuild(pool.planner, now, [&](Snapshot& all) { status_of(all, request.job).gang.position = position; });
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
    return Error{Errc::conflict,
                 name_of(job.row.id) + " has tasks on agents of its pool; the pool can be changed while it waits"};
  }
  JobSpec spec = job.row.spec;
  spec.pool = pool;
  if (auto why = never_fits(spec, job.row.owner, now)) return Error{Errc::invalid, *std::move(why)};
  return std::nullopt;
}

void Control::admit_again(const std::string& pool, TimePoint now) {
  rebuild(pools_.at(pool).planner, now, [&](Snapshot& all) {
    for (GangStatus& one : all.gangs) {
      if (const Job* job = ledger_.find(job_id(one.gang.id))) one.gang.exclude = admitted_gang(job->row).exclude;
    }
  });
  pools_.at(pool).changed = true;
}

void Control::set_job(const Guest& guest, const requests::SetJob& request, TimePoint now) {
  const Asker asker = guest.asker;
  const Job* job = live_job(guest, request.job);
  if (job == nullptr) return;
  const GroupId group(job->row.spec.group);
  const bool sets_group = request.weight || request.max_slots;
  if (sets_group && group.value.empty()) {
    return fail(asker, Errc::invalid,
                name_of(request.job) + " is in no group; weight and max_slots belong to a group, given at submission");
  }
  if (sets_group) {
    for (const auto& [id, one] : ledger_.jobs()) {
      const bool is_in_it = one.row.stage != JobStage::ended && one.row.spec.pool == job->row.spec.pool &&
                            one.row.spec.group == job->row.spec.group;
      if (!is_in_it || access::may_change(guest.who, one.row.spec.workspace, one.row.owner)) continue;
      return fail(asker, Errc::denied,
                  "group '" + group.value + "' has jobs of others as well; an admin of the cluster may change it");
    }
  }
  if (request.pool && *request.pool != job->row.spec.pool) {
    if (const auto why = obstacle_to_pool(*job, *request.pool, now)) return fail(asker, why->code, why->message);
    pool_of(*job).planner.remove(gang_id(request.job));
    pool_of(*job).changed = true;
    JobRow& row = ledger_.change(request.job).row;
    row.spec.pool = *request.pool;
    // With its age and its place among the others, as if it had been there from the start.
    rebuild(pool_of(*job).planner, now, [&](Snapshot& all) {
      const auto later = std::find_if(all.gangs.begin(), all.gangs.end(),
                                      [&](const GangStatus& one) { return job_id(one.gang.id).value > row.id.value; });
      all.gangs.insert(later, GangStatus{admitted_gang(row), row.queued, {}, {}});
    });
  }
  Pool& pool = pool_of(*job);
  Group settings;
  if (sets_group) {
    Groups& groups = settings_.pools[job->row.spec.pool].groups;
    settings = groups[group];
    settings.weight = request.weight.value_or(settings.weight);
    if (request.max_slots) settings.max_slots = request.max_slots;
    groups[group] = settings;
    ledger_.put_group(job->row.spec.pool, group, settings);
    rebuild(pool.ideal, now, [&](Snapshot& all) { all.groups[group] = settings; });
  }
  if (request.priority) ledger_.change(request.job).row.spec.priority = *request.priority;
  rebuild(pool.planner, now, [&](Snapshot& all) {
    if (sets_group) all.groups[group] = settings;
    if (request.priority) status_of(all, request.job).gang.priority = *request.priority;
  });
  pool.changed = true;
  ledger_.note(now, request.job, "set");
  answer(asker, view(*job));
}

}  // namespace cadre::cluster::control
