/// The names of the cluster's nouns. Values; safe on any thread.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/id.h"
#include "base/result.h"
#include "plan/ids.h"

namespace cadre::cluster {

using plan::AccountId;
using plan::AgentId;
using plan::GangId;
using plan::GroupId;
using JobId = Id<struct JobTag>;
/// What a client calls itself to the master; a word that nobody else would choose.
using SessionId = Name<struct SessionTag>;

/// One member of a job: 17.0 is the first of job 17.
struct TaskId {
  JobId job;
  std::uint32_t member = 0;
  auto operator<=>(const TaskId&) const = default;
};

/// Numbers the leases of one task; only grows. What an older epoch reports is refused everywhere.
struct Epoch {
  std::uint64_t value{};
  auto operator<=>(const Epoch&) const = default;
};

/// One lease of one task: 17.0/3 is the third.
struct LeaseId {
  TaskId task;
  Epoch epoch;
  auto operator<=>(const LeaseId&) const = default;
};

/// Whether a session may be called so: letters, digits, - and _, which need no escape anywhere.
[[nodiscard]] bool is_plain(const SessionId& session);

std::string to_string(TaskId task);
std::string to_string(LeaseId lease);
/// Reads `17.0`; a bare `17` is 17.0.
[[nodiscard]] Result<TaskId> parse_task_id(std::string_view text);
/// Reads `17.0/3`.
[[nodiscard]] Result<LeaseId> parse_lease_id(std::string_view text);

}  // namespace cadre::cluster

template <>
struct std::hash<cadre::cluster::TaskId> {
  std::size_t operator()(const cadre::cluster::TaskId& id) const noexcept {
    return std::hash<std::uint64_t>{}(id.job.value * 0x9E3779B97F4A7C15 + id.member);
  }
};
