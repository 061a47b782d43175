/// Points and lengths of time, in nanoseconds, with their spelling (10m, 1h30m). Values; safe on any thread.
/// Nothing here reads a clock: loop/ does.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "base/result.h"

namespace cadre {

using Duration = std::chrono::nanoseconds;

/// The time line of one process or one simulation; where it begins is the loop's affair.
struct Timeline {
  using rep = Duration::rep;
  using period = Duration::period;
  using duration = Duration;
  using time_point = std::chrono::time_point<Timeline>;
  static constexpr bool is_steady = true;
};
using TimePoint = Timeline::time_point;

/// Reads `90s`, `1h30m`, `1.5h`, `250ms`; units d h m min s ms us ns, largest first.
[[nodiscard]] Result<Duration> parse_duration(std::string_view text);

/// The shortest exact spelling, for instance 1h30m; parse_duration reads it back to the same value.
std::string to_string(Duration duration);

/// A time counted from 1970, as 2026-11-15T11:31:10.5Z: in UTC, with as many decimals as it has.
std::string to_utc(TimePoint time);
[[nodiscard]] Result<TimePoint> parse_utc(std::string_view text);

}  // namespace cadre
