/// Compares what the master says of its jobs, slots and agents at one instant, and what it says of one job with why
/// that job is where it is. For the thread of the simulation.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/time.h"
#include "cluster/requests.h"

namespace cadre::sim {

class Views {
 public:
  explicit Views(std::function<void(const std::string&)> complain) : complain_(std::move(complain)) {}

  /// When an answer is heard. Answers of one step of the master have one `step`, in the order of their requests;
  /// between two of these, the master may have heard other news.
  struct Moment {
    std::uint64_t step = 0;
    TimePoint now;
  };
  /// Slots and agents are compared with jobs that were the same before and after them.
  void see_jobs(const cluster::requests::Jobs& jobs, Moment moment);
  void see_slots(const cluster::requests::Slots& slots, Moment moment);
  void see_agents(const cluster::requests::Agents& agents, Moment moment);

  /// The same for one job.
  void see_job(const cluster::requests::JobView& job, Moment moment);
  void see_why(cluster::JobId job, const std::string& why, Moment moment);

  /// Number of comparisons that were possible.
  [[nodiscard]] std::uint64_t compared() const { return compared_; }
  [[nodiscard]] bool slots_are_free() const { return slots_free_; }
  [[nodiscard]] const std::vector<cluster::requests::AgentView>& agents() const { return agents_; }

 private:
  using Slot = std::pair<cluster::AgentId, std::int32_t>;
  struct Waiting {
    std::uint64_t version = 0;
    TimePoint since;
  };
  /// Of tasks that hold a lease.
  struct Held {
    std::map<Slot, cluster::TaskId> slots;
    std::map<cluster::AgentId, std::int64_t> tasks;
    bool operator==(const Held&) const = default;
  };
  Held held_by(const cluster::requests::Jobs& jobs) const;
  void check_slots(const cluster::requests::Slots& slots) const;
  void check_agents(const cluster::requests::Agents& agents) const;
  void check_stage(const cluster::requests::JobView& job, const std::string& why);
  void check_plan(const cluster::requests::JobView& job, const std::string& why, TimePoint now);

  std::function<void(const std::string&)> complain_;
  std::optional<std::uint64_t> jobs_step_;
  Held held_;  ///< as the last list of jobs says
  /// Seen after it, in the same step.
  std::vector<cluster::requests::Slots> slots_seen_;
  std::vector<cluster::requests::Agents> agents_seen_;
  mutable std::uint64_t compared_ = 0;
  bool slots_free_ = false;
  std::vector<cluster::requests::AgentView> agents_;
  std::optional<std::uint64_t> job_step_;
  cluster::requests::JobView job_;
  std::vector<std::string> whys_;                ///< of this job, seen after it in the same step
  std::map<cluster::JobId, Waiting> unplanned_;  ///< they wait for a plan, as they were last asked
};

}  // namespace cadre::sim
