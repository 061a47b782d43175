/// The scheduling policies of a pool and their settings. Values; safe on any thread.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>

#include "base/time.h"
#include "describe/checks.h"
#include "plan/ids.h"

namespace cadre::plan {

/// Which agent gets a gang that several could hold: the one left with the fewest slots, or with the largest free share.
enum class Fitting : std::uint8_t { best, worst };
constexpr auto enum_names(Fitting) {
  return std::array{std::pair{Fitting::best, "best"}, std::pair{Fitting::worst, "worst"}};
}

/// How long agents may be held for a gang before others are tried.
constexpr Duration least_patience = std::chrono::minutes(1);
constexpr Duration most_patience = std::chrono::hours(365 * 24);

struct PriorityPolicy {
  static constexpr std::string_view type_name = "priority";
  static constexpr std::string_view doc = "More important gangs first; gangs of equal priority in queue order.";
  bool preemption = true;
  Fitting fitting = Fitting::best;
  Duration passing_limit = std::chrono::minutes(10);
  std::int32_t reservations_max = 100;
  Duration hold_patience = std::chrono::hours(1);
  std::int32_t slotless_tasks_max = 100;
};

template <class V>
void describe(V& v, PriorityPolicy& p) {
  v.field("preemption", p.preemption, "Whether a gang may preempt preemptible gangs behind it to take their place.");
  v.field("fitting", p.fitting,
          "Which agent to use when one can hold the whole gang: `best` leaves the fewest free slots, `worst` has the "
          "largest free share.");
  v.field("passing_limit", p.passing_limit,
          "How long a blocked gang lets later gangs of its own priority pass; after that, its reservation applies to "
          "them too.",
          at_least(Duration(0)));
  v.field("reservations_max", p.reservations_max, "Maximum number of blocked gangs that reserve agents at a time.",
          range(0, 100'000));
  v.field("hold_patience", p.hold_patience,
          "How long the same agents are reserved for a gang before others are tried; doubled every time.",
          range(least_patience, most_patience));
  v.field("slotless_tasks_max", p.slotless_tasks_max, "Maximum number of tasks without slots on one agent.",
          range(0, 1'000'000));
}

struct FairSharePolicy {
  static constexpr std::string_view type_name = "fair_share";
  static constexpr std::string_view doc = "Groups share the slots by weight.";
  Fitting fitting = Fitting::best;
  std::int32_t slotless_tasks_max = 100;
};

template <class V>
void describe(V& v, FairSharePolicy& p) {
  v.field("fitting", p.fitting,
          "Which agent to use when one can hold the whole gang: `best` leaves the fewest free slots, `worst` has the "
          "largest free share.");
  v.field("slotless_tasks_max", p.slotless_tasks_max, "Maximum number of tasks without slots on one agent.",
          range(0, 1'000'000));
}

using Policy = std::variant<PriorityPolicy, FairSharePolicy>;

struct Group {
  static constexpr std::string_view doc =
      "Gangs that share a weight and a limit, such as those of an experiment or a user.";
  double weight = 1;
  std::optional<std::int64_t> max_slots;
};

template <class V>
void describe(V& v, Group& g) {
  v.field("weight", g.weight, "Weight under `fair_share`, relative to the weights of other groups.",
          range(0.001, 1'000'000.0));
  v.field("max_slots", g.max_slots, "Maximum slots that it may hold, under every policy.", at_least(0));
}

using Groups = std::map<GroupId, Group>;

struct Account {
  static constexpr std::string_view doc =
      "Gangs that share only a limit, over all pools, such as those of a user or in a workspace.";
  std::optional<std::int64_t> max_slots;
  std::int64_t elsewhere = 0;
};

template <class V>
void describe(V& v, Account& a) {
  v.field("max_slots", a.max_slots, "Maximum slots that its gangs may hold together, under every policy.", at_least(0));
  v.field("elsewhere", a.elsewhere, "Slots that its gangs hold in other pools.", range(0, 1'000'000'000));
}

using Accounts = std::map<AccountId, Account>;

}  // namespace cadre::plan
