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

  /// When requests were made, and when they are answered. Nothing can happen between the answers to requests that were
  /// made together and are answered together; those that a stopped master answers together were made at any time.
  struct Moment {
    std::uint64_t poll = 0;
    TimePoint now;
    bool operator==(const Moment&) const = default;
  };
  /// In this order.
  void see_jobs(const cluster::requests::Jobs& jobs, Moment moment);
  void see_slots(const cluster::requests::Slots& slots, Moment moment);
  void see_agents(const cluster::requests::Agents& agents, Moment moment);

  /// The same for one job.
  void see_job(const cluster::requests::JobView& job, Moment moment);
  void see_why(cluster::JobId job, const std::string& why, Moment moment);

  [[nodiscard]] bool slots_are_free() const { return slots_free_; }
  [[nodiscard]] const std::vector<cluster::requests::AgentView>& agents() const { return agents_; }

 private:
  using Slot = std::pair<cluster::AgentId, std::int32_t>;
  struct Waiting {
    std::uint64_t version = 0;
    TimePoint since;
  };
  void check_stage(const cluster::requests::JobView& job, const std::string& why);
  void check_plan(const cluster::requests::JobView& job, const std::string& why, TimePoint now);

  std::function<void(const std::string&)> complain_;
  std::optional<Moment> jobs_seen_;
  std::map<Slot, cluster::TaskId> held_;            ///< by tasks, as the list of jobs says
  std::map<cluster::AgentId, std::int64_t> tasks_;  ///< with a lease there
  std::optional<Moment> slots_seen_;
  std::map<cluster::AgentId, std::int64_t> used_;  ///< slots, as the list of slots says
  bool slots_free_ = false;
  std::vector<cluster::requests::AgentView> agents_;
  std::optional<Moment> job_seen_;
  cluster::requests::JobView job_;
  std::map<cluster::JobId, Waiting> unplanned_;  ///< they wait for a plan, as they were last asked
};

}  // namespace cadre::sim
