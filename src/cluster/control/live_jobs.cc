#include "cluster/control/live_jobs.h"

#include <limits>

#include "base/check.h"

namespace cadre::cluster::control {
namespace {

template <class Map, class Key>
void count_down(Map& counts, const Key& key) {
  const auto found = counts.find(key);
  CHECK(found != counts.end());
  if (--found->second == 0) counts.erase(found);
}

constexpr JobId first_job{0};
constexpr JobId last_job{std::numeric_limits<std::uint64_t>::max()};

}  // namespace

void LiveJobs::add(const JobRow& row) {
  lines_[{row.spec.pool, row.spec.priority}].emplace(row.position, row.id);
  ++workspaces_[row.spec.workspace];
  if (!row.spec.group.empty()) ++groups_[{row.spec.pool, row.spec.group}][{row.spec.workspace, row.owner}];
}

void LiveJobs::remove(const JobRow& row) {
  const auto line = lines_.find({row.spec.pool, row.spec.priority});
  CHECK(line != lines_.end() && line->second.erase({row.position, row.id}) == 1);
  if (line->second.empty()) lines_.erase(line);
  count_down(workspaces_, row.spec.workspace);
  if (row.spec.group.empty()) return;
  const auto group = groups_.find({row.spec.pool, row.spec.group});
  CHECK(group != groups_.end());
  count_down(group->second, std::pair(row.spec.workspace, row.owner));
  if (group->second.empty()) groups_.erase(group);
}

std::optional<double> LiveJobs::next_position(const JobPlace& place, JobId but) const {
  const auto line = lines_.find({place.pool, place.priority});
  if (line == lines_.end()) return std::nullopt;
  for (auto at = line->second.upper_bound({place.position, last_job}); at != line->second.end(); ++at) {
    if (at->second != but) return at->first;
  }
  return std::nullopt;
}

std::optional<double> LiveJobs::previous_position(const JobPlace& place, JobId but) const {
  const auto line = lines_.find({place.pool, place.priority});
  if (line == lines_.end()) return std::nullopt;
  for (auto at = line->second.lower_bound({place.position, first_job}); at != line->second.begin();) {
    if ((--at)->second != but) return at->first;
  }
  return std::nullopt;
}

const LiveJobs::Owners& LiveJobs::owners_of_group(const std::string& pool, const std::string& group) const {
  static const Owners none;
  const auto found = groups_.find({pool, group});
  return found == groups_.end() ? none : found->second;
}

}  // namespace cadre::cluster::control
