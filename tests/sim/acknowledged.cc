#include "tests/sim/acknowledged.h"

#include <algorithm>
#include <cstdio>

namespace cadre::sim {
namespace {

using cluster::TaskId;
using cluster::control::TaskRow;
namespace lease = cluster::lease;

}  // namespace

void Acknowledged::note_end(const cluster::LeaseId& lease, const std::optional<cluster::TaskEnding>& told) {
  ends_.emplace(lease, told);  // what is said again later may know less
}

void Acknowledged::note_report(const cluster::LeaseId& lease, std::uint64_t number, bool is_announcement) {
  Task& task = tasks_[lease.task];
  if (is_announcement) {
    task.announced = std::max(task.announced.value_or(lease.epoch), lease.epoch);
  } else {
    ++task.reports;
    task.last = std::max(task.last, Place{lease.epoch.value, number});
  }
}

void Acknowledged::check(const cluster::control::Rows& rows) const {
  std::map<TaskId, const TaskRow*> there;
  for (const TaskRow& row : rows.tasks) there.emplace(row.id, &row);
  for (const auto& [lease, told] : ends_) {
    const auto row = there.find(lease.task);
    if (row == there.end()) return complain_("task " + to_string(lease.task) + " is not in the database");
    check_end(*row->second, lease.epoch, told);
  }
  for (const auto& [id, task] : tasks_) {
    const auto row = there.find(id);
    if (row == there.end()) return complain_("task " + to_string(id) + " is not in the database");
    check(*row->second, task);
  }
}

void Acknowledged::check_end(const TaskRow& row, cluster::Epoch epoch,
                             const std::optional<cluster::TaskEnding>& told) const {
  const std::string name = "lease " + to_string(cluster::LeaseId{row.id, epoch});
  const auto held = lease::current(row.lease);
  if (row.lease.epoch < epoch) return complain_(name + " has ended, and the database does not know it");
  if (held && held->epoch == epoch) return complain_("the end of " + name + " is acknowledged and not in the database");
  const auto* ended = std::get_if<lease::Ended>(&row.lease.stage);
  const bool is_of_it = ended != nullptr && row.lease.epoch == epoch && told && told->reason == ended->ending.reason;
  if (is_of_it && told->code != ended->ending.code) {
    complain_(name + " ended with " + std::to_string(told->code) + ", and the database says " +
              std::to_string(ended->ending.code));
  }
}

void Acknowledged::check(const TaskRow& row, const Task& task) const {
  const std::string name = "task " + to_string(row.id);
  if (row.reports < task.reports) {
    return complain_(name + ": " + std::to_string(task.reports) + " reports are acknowledged, and the database has " +
                     std::to_string(row.reports));
  }
  Place last;
  unsigned long long epoch = 0;
  unsigned long long number = 0;
  if (std::sscanf(row.last_report.c_str(), "%llu %llu", &epoch, &number) == 2) last = {epoch, number};
  if (last < task.last) {
    return complain_(name + ": report " + std::to_string(task.last.second) + " of epoch " +
                     std::to_string(task.last.first) + " is acknowledged, and the last in the database is '" +
                     row.last_report + "'");
  }
  const bool is_announced = task.announced && row.lease.epoch == *task.announced;
  if (is_announced && row.announcement.empty()) {
    complain_("the announcement of " + name + " is acknowledged and not in the database");
  }
}

}  // namespace cadre::sim
