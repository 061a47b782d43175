/// Clients that wait for a job to change. One thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "cluster/control/outbox.h"
#include "cluster/control/settings.h"

namespace cadre::cluster::control {

class Watchers {
 public:
  Watchers(const Settings& settings, const Ledger& ledger, Outbox& outbox)
      : settings_(settings), ledger_(ledger), outbox_(outbox) {}

  /// Answers when the job has another version than `seen`.
  void add(JobId job, Asker asker, std::uint64_t seen);
  /// Answers those whose jobs have changed.
  void tell();
  void forget_asker(Asker asker);
  void add_waiting(std::vector<Asker>& askers) const;
  std::size_t size() const { return static_cast<std::size_t>(watching_); }

 private:
  const Settings& settings_;
  const Ledger& ledger_;
  Outbox& outbox_;
  std::map<JobId, std::vector<std::pair<Asker, std::uint64_t>>> watchers_;  ///< with the version they have seen
  std::int64_t watching_ = 0;
};

}  // namespace cadre::cluster::control
