#include "cluster/control/jobs/absences.h"

#include <algorithm>

namespace cadre::cluster::control {

void Absences::restore(const Job& job) {
  const bool is_partly_lost =
      std::any_of(job.tasks.begin(), job.tasks.end(), [](const auto& one) { return lost_of(one.second).has_value(); });
  if (job.row.stage == JobStage::running && is_partly_lost) in_doubt_.emplace(job.row.id, std::nullopt);
}

bool Absences::is_in_doubt(const Job& job) {
  const auto may_go_on = [&](const auto& one) {
    return !job.in_run(one.second) || lost_of(one.second) || lease::current(one.second.lease);
  };
  if (job.row.stage != JobStage::running || !std::all_of(job.tasks.begin(), job.tasks.end(), may_go_on)) return false;
  const bool all_are_silent = std::all_of(job.tasks.begin(), job.tasks.end(), [&](const auto& one) {
    const auto held = lease::current(one.second.lease);
    const AgentEntry* agent = held ? ledger_.find(held->agent) : nullptr;
    return agent == nullptr || liveness_.is_silent(*agent);
  });
  const auto known = in_doubt_.find(job.row.id);
  if (all_are_silent) {
    in_doubt_[job.row.id] = std::nullopt;
    return true;
  }
  if (known == in_doubt_.end()) return false;
  if (!known->second) known->second = liveness_.now() + Liveness::silent_beats * settings_.beat_every;
  return liveness_.now() < *known->second;
}

std::vector<JobId> Absences::in_doubt() const {
  std::vector<JobId> jobs;
  for (const auto& [id, until] : in_doubt_) jobs.push_back(id);
  return jobs;
}

std::vector<JobId> Absences::take_due() {
  std::vector<JobId> due;
  for (const auto& [id, until] : rejoining_) {
    const Job* job = ledger_.find(id);
    const bool is_over = job == nullptr || !waits(job->row.stage);
    if (is_over || liveness_.now() >= until) due.push_back(id);
  }
  for (const JobId id : due) rejoining_.erase(id);
  return due;
}

}  // namespace cadre::cluster::control
