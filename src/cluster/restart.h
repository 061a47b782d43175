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

/// Exit codes that override the restart policy.
constexpr std::int32_t exit_without_restart = 64;
constexpr std::int32_t exit_with_gang = 65;

struct Never {
  static constexpr std::string_view type_name = "never";
  static constexpr std::string_view doc = "Never restarted.";
  bool operator==(const Never&) const = default;
};
template <class V>
void describe(V&, Never&) {}

struct OnFailure {
  static constexpr std::string_view type_name = "on_failure";
  static constexpr std::string_view doc = "Restarted unless it exits with code 0, 64 or 65.";
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
  v.field("max_restarts", r.max_restarts,
          "Maximum number of consecutive restarts; at the next failure the task is given up.", range(1, 10'000));
  v.field("first_wait", r.first_wait, "Delay from a failure to the first restart.", range(Duration(0), longest));
  v.field("factor", r.factor, "Factor by which the delay grows with each consecutive restart.", range(1.0, 1'000.0));
  v.field("longest_wait", r.longest_wait, "Maximum delay before a restart.", range(Duration(0), longest));
  v.field("reset_after", r.reset_after, "A run that lasts longer than this resets the count of consecutive restarts.",
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

/// What follows from the end of a run, after this number of consecutive restarts.
[[nodiscard]] Judged judge(const Policy& policy, std::int32_t restarts, const Run& run);

}  // namespace cadre::cluster::restart
