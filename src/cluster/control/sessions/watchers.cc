#include "cluster/control/sessions/watchers.h"

#include "cluster/control/jobs/job_views.h"

namespace cadre::cluster::control {

void Watchers::add(JobId job, Asker asker, std::uint64_t seen) {
  if (watching_ >= settings_.watchers_max) {
    return outbox_.fail(asker, Errc::unavailable, "too many clients wait for changes; try again later");
  }
  ++watching_;
  watchers_[job].emplace_back(asker, seen);
}

void Watchers::tell() {
  for (const JobId id : ledger_.jobs_changed()) {
    const auto waiting = watchers_.find(id);
    if (waiting == watchers_.end()) continue;
    const Job& job = *ledger_.find(id);
    std::erase_if(waiting->second, [&](const auto& watcher) {
      if (watcher.second == job.version) return false;
      outbox_.answer(watcher.first, whole_view(job));
      --watching_;
      return true;
    });
    if (waiting->second.empty()) watchers_.erase(waiting);
  }
}

void Watchers::forget_asker(Asker asker) {
  for (auto at = watchers_.begin(); at != watchers_.end();) {
    watching_ -= static_cast<std::int64_t>(
        std::erase_if(at->second, [&](const auto& watcher) { return watcher.first == asker; }));
    at = at->second.empty() ? watchers_.erase(at) : std::next(at);
  }
}

void Watchers::add_waiting(std::vector<Asker>& askers) const {
  for (const auto& [job, watchers] : watchers_) {
    for (const auto& [asker, seen] : watchers) askers.push_back(asker);
  }
}

}  // namespace cadre::cluster::control
