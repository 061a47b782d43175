/// A gang: tasks that are placed all or nothing. Values; safe on any thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/time.h"
#include "plan/agent.h"
#include "plan/ids.h"
#include "plan/resources.h"

namespace cadre::plan {

/// Where tasks without slots go: near their gang's slots, or apart from each other.
enum class Layout : std::uint8_t { pack, spread };
constexpr auto enum_names(Layout) {
  return std::array{std::pair{Layout::pack, "pack"}, std::pair{Layout::spread, "spread"}};
}

/// What of the agents is compared, to say which is the fuller.
enum class Measure : std::uint8_t { slots, cpus, memory };
constexpr auto enum_names(Measure) {
  return std::array{std::pair{Measure::slots, "slots"}, std::pair{Measure::cpus, "cpus"},
                    std::pair{Measure::memory, "memory"}};
}

/// Documentation of the fields layout and layout_by.
constexpr std::string_view layout_doc =
    "Placement of tasks without slots: `pack` near the slots of the gang, `spread` apart from each other.";
constexpr std::string_view layout_by_doc =
    "Applies layout to tasks with slots as well: `pack` prefers agents that have tasks of the gang, then the one with "
    "the least of this resource free; `spread` prefers agents with the fewest tasks of the gang, then the one with the "
    "most free.";

/// `count` equal tasks, each on one agent. With `elastic_min` the gang starts with that many, and the rest join when
/// there is room.
struct Role {
  std::string name;
  std::int32_t count = 1;
  Request request;
  std::optional<std::int32_t> elastic_min;
  Layout layout = Layout::pack;
  std::optional<Measure> layout_by = {};
  bool operator==(const Role&) const = default;

  std::int32_t least_count() const { return elastic_min.value_or(count); }
};

/// A request for slots that may be divided over agents, one task on each.
struct Divisible {
  Request request;
  bool single_agent = false;
  bool uneven = false;
  bool operator==(const Divisible&) const = default;
};

/// At least one of them has tasks without which the gang cannot start.
using Roles = std::vector<Role>;
using Wants = std::variant<Divisible, Roles>;

struct Gang {
  GangId id;
  Wants wants;
  std::int32_t priority = 42;  ///< 1..99, smaller is more important
  double position = 0;         ///< place in the queue among equals of priority
  GroupId group;               ///< empty: a group of its own
  bool preemptible = true;
  Labels selector;  ///< labels an agent must carry
  std::vector<AgentId> exclude;
  std::vector<AccountId> accounts = {};  ///< whose limits bind it beside that of its group
  /// Which submission it was: smaller ones came before it. Left out: it comes after all that are known.
  std::optional<std::uint64_t> submission = {};
};

/// Some of a gang's tasks on one agent. For a divisible gang: one task with `slots` slots.
struct Part {
  std::uint32_t agent = 0;  ///< index in the books
  std::int32_t role = 0;
  std::int32_t tasks = 1;
  std::int32_t slots = 0;  ///< of all these tasks together
  bool operator==(const Part&) const = default;
};
using Parts = std::vector<Part>;

/// The same, for people and messages.
struct Place {
  AgentId agent;
  std::int32_t role = 0;
  std::int32_t tasks = 1;
  std::int32_t slots = 0;
  bool operator==(const Place&) const = default;
};
using Places = std::vector<Place>;

/// The slots with which it may start, and those of all its tasks.
std::int64_t slots_to_start(const Wants& wants);
std::int64_t slots_in_full(const Wants& wants);

/// For instance "4 slots, 2 cpus, 16GiB".
std::string to_string(const Request& request);
std::string to_string(const Wants& wants);

}  // namespace cadre::plan
