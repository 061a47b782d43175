/// What the master has acknowledged to agents: ends of leases, reports and announcements. All of it must be in its
/// database from then on, also after every restart. For the thread of the simulation.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "cluster/control/rows.h"
#include "cluster/messages.h"

namespace cadre::sim {

class Acknowledged {
 public:
  explicit Acknowledged(std::function<void(const std::string&)> complain) : complain_(std::move(complain)) {}

  /// `told` is how the task ended, if its supervisor has said so.
  void note_end(const cluster::LeaseId& lease, const std::optional<cluster::TaskEnding>& told);
  /// Of a report that was accepted; its body is `EPOCH NUMBER`.
  void note_report(const cluster::LeaseId& lease, std::uint64_t number, bool is_announcement);

  void check(const cluster::control::Rows& rows) const;

 private:
  using Place = std::pair<std::uint64_t, std::uint64_t>;  ///< epoch, and number in it
  struct Task {
    std::uint64_t reports = 0;
    Place last;
    std::optional<cluster::Epoch> announced;  ///< in the newest lease that has
  };
  void check(const cluster::control::TaskRow& row, const Task& task) const;
  void check_end(const cluster::control::TaskRow& row, cluster::Epoch epoch,
                 const std::optional<cluster::TaskEnding>& told) const;

  std::function<void(const std::string&)> complain_;
  std::map<cluster::LeaseId, std::optional<cluster::TaskEnding>> ends_;
  std::map<cluster::TaskId, Task> tasks_;
};

}  // namespace cadre::sim
