/// Indexes over the jobs that have not ended, so that a request need not look at all of them. One thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "cluster/control/rows.h"

namespace cadre::cluster::control {

/// Where a job stands in the order of all.
struct JobPlace {
  std::string pool;
  std::int32_t priority = 0;
  double position = 0;
};

class LiveJobs {
 public:
  void add(const JobRow& row);
  /// As it was when it was added.
  void remove(const JobRow& row);

  /// The positions next to this one among the jobs of the same pool and priority, but for one of them.
  std::optional<double> next_position(const JobPlace& place, JobId but) const;
  std::optional<double> previous_position(const JobPlace& place, JobId but) const;

  bool has_workspace(const std::string& name) const { return workspaces_.contains(name); }
  /// Workspace and owner.
  using Owners = std::map<std::pair<std::string, std::string>, std::size_t>;
  /// Who has jobs in a group of a pool.
  const Owners& owners_of_group(const std::string& pool, const std::string& group) const;

 private:
  using Line = std::set<std::pair<double, JobId>>;
  std::map<std::pair<std::string, std::int32_t>, Line> lines_;  ///< by pool and priority
  std::map<std::string, std::size_t> workspaces_;
  std::map<std::pair<std::string, std::string>, Owners> groups_;
};

}  // namespace cadre::cluster::control
