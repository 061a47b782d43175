/// When a pool grows and shrinks. Pure; safe on any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "plan/ids.h"

namespace cadre::plan {

struct ProvisionRule {
  std::int64_t min = 0;  ///< instances
  std::int64_t max = 0;
  std::int64_t slots_per_instance = 1;
  Duration idle_after = std::chrono::minutes(20);
  Duration starting_limit = std::chrono::minutes(20);
};

/// Slots that may still be taken under a limit.
struct LimitedRoom {
  std::string limit;  ///< its key
  std::int64_t slots = 0;
};

/// Queued gangs that ask for the same number of slots.
struct QueuedDemand {
  std::int64_t slots = 0;
  std::int64_t gangs = 0;
  std::vector<LimitedRoom> rooms;  ///< under every limit that binds them
};

/// An instance the provider was asked for.
struct Instance {
  AgentId id;
  TimePoint asked;
  bool ready = false;
  std::optional<TimePoint> idle_since;
};

/// How many instances to ask for: enough for the queued gangs that fit such instances, less those already starting,
/// within the rule's bounds. A gang larger than an instance counts only if it is a multiple of it; what its
/// limits forbid does not count.
std::int64_t instances_to_add(const ProvisionRule& rule, const std::vector<QueuedDemand>& queued,
                              const std::vector<Instance>& instances);

/// Instances to give back: those that did not become ready in time, and those idle for too long, longest idle first,
/// never below the least number.
std::vector<AgentId> instances_to_release(const ProvisionRule& rule, const std::vector<Instance>& instances,
                                          TimePoint now);

}  // namespace cadre::plan
