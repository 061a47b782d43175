/// Whether a task that has ended is started again, and when. Pure; safe on any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "base/time.h"
#include "cluster/lease.h"
#include "describe/describe.h"

namespace cadre::cluster::restart {

/// Exit codes by which a process says what is to become of it, whatever its policy.
constexpr std::int32_t exit_without_restart = 64;
constexpr std::int32_t exit_with_gang = 65;

struct Never {
  static constexpr std::string_view type_name = "never";
  static constexpr std::string_view doc = "However it ends, it is not started again.";
  bool operator==(const Never&) const = default;
};
template <class V>
void describe(V&, Never&) {}

struct OnFailure {
  static constexpr std::string_view type_name = "on_failure";
  static constexpr std::string_view doc = "Started again unless it ended with exit code 0, 64 or 65.";
  std::int32_t max_restarts = 3;
  Duration first_wait = std::chrono::seconds(1);
  double factor = 2;
  Duration longest_wait = std::chrono::minutes(1);
  Duration reset_after = std::chrono::minutes(10);
  bool operator==(const OnFailure&) const = default;
};
template <class V>
void describe(V& v, OnFailure& r) {
  const Duration longest = std::chrono::hours(24 * 365);
  v.field("max_restarts", r.max_restarts, "How often in a row; at the next failure it is given up.", range(1, 10'000));
  v.field("first_wait", r.first_wait, "From a failure to the first restart.", range(Duration(0), longest));
  v.field("factor", r.factor, "By which each further wait in a row is longer.", range(1.0, 1'000.0));
  v.field("longest_wait", r.longest_wait, "However many restarts there were.", range(Duration(0), longest));
  v.field("reset_after", r.reset_after, "A run that lasts longer than this begins a new row.",
          range(Duration(0), longest));
  v.check(r.first_wait <= r.longest_wait, "longest_wait",
          "must not be shorter than first_wait; raise it or lower first_wait");
}

using Policy = std::variant<Never, OnFailure>;

/// One run of a task, from its start to its end.
struct Run {
  TimePoint started;
  TimePoint ended;
  lease::Ending ending;
};

// What is to become of the task.

/// It is started again at that time.
struct Restart {
  TimePoint at;
  bool operator==(const Restart&) const = default;
};
/// It is done: exit code 0.
struct Finish {
  bool operator==(const Finish&) const = default;
};
/// It failed and stays down, while the others go on.
struct GiveUp {
  std::string why;
  bool operator==(const GiveUp&) const = default;
};
struct EndGang {
  std::string why;
  bool operator==(const EndGang&) const = default;
};
using Verdict = std::variant<Restart, Finish, GiveUp, EndGang>;

struct Judged {
  Verdict verdict;
  std::int32_t restarts = 0;  ///< in a row, with the one that is due now
};

/// What follows from the end of a run, when there were so many restarts in a row before it.
[[nodiscard]] Judged judge(const Policy& policy, std::int32_t restarts, const Run& run);

}  // namespace cadre::cluster::restart
