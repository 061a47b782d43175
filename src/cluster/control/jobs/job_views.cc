#include "cluster/control/jobs/job_views.h"

#include <algorithm>
#include <utility>

namespace cadre::cluster::control {
namespace {

std::optional<TimePoint> unless_never(TimePoint time) {
  return time == TimePoint{} ? std::nullopt : std::optional(time);
}

}  // namespace

requests::TaskView view(const Job& job, const TaskRow& task) {
  requests::TaskView view{task.id,
                          job.member_of(task).role,
                          task.rank,
                          lease::stage_of(task.lease),
                          task.lease.epoch.value,
                          task.agent,
                          task.slots,
                          unless_never(task.started),
                          unless_never(task.ended),
                          std::nullopt,
                          task.ending.usage,
                          task.reports,
                          task.last_report,
                          task.restarts,
                          unless_never(task.restart_at),
                          task.announcement};
  if (ending_of(task) != nullptr || awaits_restart(task)) view.ending = task.ending;
  if (const auto usage = job.usages.find(task.id.member); usage != job.usages.end()) view.usage = usage->second;
  return view;
}

requests::JobView view(const Job& job) {
  const JobRow& row = job.row;
  requests::JobView view;
  view.id = row.id;
  view.name = row.spec.name;
  view.workspace = row.spec.workspace;
  view.owner = row.owner;
  view.pool = row.spec.pool;
  view.priority = row.spec.priority;
  view.position = row.position;
  view.group = row.spec.group;
  view.session = row.spec.session;
  view.actor = row.spec.actor;
  view.stage = row.stage;
  view.slots = slots_in_full(gang_of(row.id, 0, row.spec).wants);
  view.submitted = row.submitted;
  view.started = unless_never(row.started);
  view.ended = unless_never(row.ended);
  if (row.stage == JobStage::ended) {
    view.reason = row.reason;
    view.code = row.code;
    if (row.history.failed) view.failed = TaskId{row.id, *row.history.failed};
  }
  view.detail = row.detail;
  view.stopped_by = row.history.stopped_by;
  view.stop = row.history.stop;
  view.runs = row.runs;
  view.version = job.version;
  for (const auto& [member, task] : job.tasks) {
    if (job.in_run(task)) view.tasks.push_back(control::view(job, task));
  }
  return view;
}

requests::JobView whole_view(const Job& job) {
  requests::JobView view = control::view(job);
  for (const MemberSpec& member : job.row.spec.members) {
    const Command& command = member.command;
    requests::MemberView shown;
    shown.role = member.role;
    shown.count = member.count;
    shown.argv = command.argv;
    shown.slots = member.slots;
    shown.slot_kind = member.slot_kind;
    shown.cpus = member.cpus;
    shown.memory = member.memory;
    for (const auto& [name, value] : command.variables) shown.variables.push_back(name);
    shown.folder = command.folder;
    shown.python = command.python;
    shown.setup = command.setup;
    shown.mounts = command.mounts;
    shown.code = command.code;
    view.members.push_back(std::move(shown));
  }
  view.attempts = job.row.history.attempts;
  return view;
}

requests::ActorView actor_view(const Ledger& ledger, const Job& job) {
  const requests::JobView all = view(job);
  requests::ActorView actor{all.id, all.actor,     all.name, all.owner, all.session, all.workspace, all.stage, {},
                            {},     all.submitted, {},       all.ended, all.reason,  all.code,      all.detail};
  actor.restarts = std::max(0, all.runs - 1);
  if (all.tasks.empty()) return actor;
  const requests::TaskView& task = all.tasks.front();
  actor.agent = task.agent;
  if (const AgentEntry* agent = ledger.find(task.agent)) actor.host = agent->row.host;
  actor.started = task.started;
  actor.memory = task.usage.memory;
  actor.calls = task.usage.calls;
  actor.errors = task.usage.errors;
  return actor;
}

}  // namespace cadre::cluster::control
