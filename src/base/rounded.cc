#include "base/rounded.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace cadre {
namespace {

using namespace std::chrono_literals;

struct Step {
  Duration below;  ///< shown in these units
  Duration coarse;
  const char* coarse_name;
  Duration fine;
  const char* fine_name;
};
constexpr std::array steps = {Step{1h, 1min, "min", 1s, "s"}, Step{24h, 1h, "h", 1min, "min"},
                              Step{240h, 24h, "d", 1h, "h"}};

Duration round_to(Duration duration, Duration unit) { return (duration + unit / 2) / unit * unit; }

std::string counted(std::int64_t count, const char* unit) {
  return count == 0 ? "" : std::to_string(count) + " " + unit;
}

std::string tenths(Duration duration) {
  const std::int64_t count = duration / 100ms;
  const std::string whole = std::to_string(count / 10);
  return (count % 10 == 0 ? whole : whole + "." + std::to_string(count % 10)) + " s";
}

}  // namespace

std::string rounded(Duration duration) {
  const Duration fine = round_to(std::max<Duration>(duration, 0s), 1ms);
  if (fine == 0s) return "0 s";
  if (fine < 100ms) return counted(fine / 1ms, "ms");
  if (const Duration tenth = round_to(duration, 100ms); tenth < 10s) return tenths(tenth);
  for (const Step& step : steps) {
    const Duration shown = round_to(duration, step.fine);
    if (shown >= step.below) continue;
    const std::string first = counted(shown / step.coarse, step.coarse_name);
    const std::string second = counted(shown % step.coarse / step.fine, step.fine_name);
    return first.empty() || second.empty() ? first + second : first + " " + second;
  }
  return counted(round_to(duration, 24h) / 24h, "d");
}

}  // namespace cadre
