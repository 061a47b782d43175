#include "cli/words.h"

#include <array>
#include <cstdio>
#include <cstring>

#include "cli/exit_code.h"
#include "describe/describe.h"

namespace cadre::cli {

using cluster::lease::Reason;
using namespace std::chrono_literals;

std::string short_duration(Duration duration) {
  struct Unit {
    std::chrono::seconds size;
    char name;
  };
  static constexpr std::array units = {Unit{24h, 'd'}, Unit{1h, 'h'}, Unit{1min, 'm'}, Unit{1s, 's'}};
  const std::int64_t seconds =
      std::max<std::int64_t>(0, std::chrono::duration_cast<std::chrono::seconds>(duration).count());
  for (std::size_t i = 0; i < units.size(); ++i) {
    const std::int64_t size = units[i].size.count();
    if (seconds < size) continue;
    std::string text = std::to_string(seconds / size) + units[i].name;
    const bool is_coarse = units[i].name == 's' || seconds / size >= 10;
    if (is_coarse) return text;
    const std::int64_t rest = seconds % size / units[i + 1].size.count();
    return rest == 0 ? text : text + std::to_string(rest) + units[i + 1].name;
  }
  return "0s";
}

std::string ago(std::optional<TimePoint> time, TimePoint now) {
  if (!time) return "";
  if (now - *time < 1s) return "just now";
  return short_duration(now - *time) + " ago";
}

std::string with_time(std::optional<TimePoint> time, TimePoint now) {
  return time ? ago(time, now) + " (" + to_utc(std::chrono::floor<std::chrono::seconds>(*time)) + ")" : "";
}

std::string ran(std::optional<TimePoint> started, std::optional<TimePoint> ended, TimePoint now) {
  if (!started) return "";
  return short_duration(ended.value_or(now) - *started);
}

std::string short_size(ByteSize size) {
  static constexpr std::array units = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  if (size.value == 0) return "0";
  auto amount = static_cast<double>(size.value);
  std::size_t unit = 0;
  while (amount >= 999.5 && unit + 1 < units.size()) {
    amount /= 1024;
    ++unit;
  }
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", amount);
  if (amount >= 99.95 || std::string_view(text).ends_with(".0")) std::snprintf(text, sizeof text, "%.0f", amount);
  return std::string(text) + units[unit];
}

std::string counted(std::int64_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

std::string joined(const std::vector<std::string>& texts, const std::string& separator) {
  std::string all;
  for (const std::string& text : texts) all += (all.empty() ? "" : separator) + text;
  return all;
}

std::string ranges(const std::vector<std::int32_t>& sorted) {
  std::string text;
  for (std::size_t first = 0; first < sorted.size();) {
    std::size_t last = first;
    while (last + 1 < sorted.size() && sorted[last + 1] == sorted[last] + 1) ++last;
    if (!text.empty()) text += ",";
    text += std::to_string(sorted[first]);
    if (last > first) text += "-" + std::to_string(sorted[last]);
    first = last + 1;
  }
  return text;
}

std::string ending_words(const cluster::requests::JobView& job) {
  if (!job.reason) return std::string(describe::name_of(job.stage));
  if (*job.reason != Reason::killed_by_user || job.stopped_by.empty()) {
    return cluster::ending_words(*job.reason, job.code.value_or(0), job.detail);
  }
  // That it had no grace is what a kill means.
  const bool is_said = job.stop.starts_with("killed by ") && job.detail.starts_with("killed after ");
  return job.detail.empty() || is_said ? job.stop : job.stop + ": " + job.detail;
}

std::string ending_words(const cluster::requests::ActorView& actor) {
  if (!actor.reason) return std::string(describe::name_of(actor.stage));
  return cluster::ending_words(*actor.reason, actor.code.value_or(0), actor.detail);
}

std::string rank_words(const std::vector<std::int32_t>& sorted) {
  return (sorted.size() == 1 ? "rank " : "ranks ") + ranges(sorted);
}

int exit_code_of(const cluster::requests::JobView& job) {
  return exit_code_of(job.reason.value_or(Reason::exited), job.code.value_or(0));
}

int exit_code_of(Reason reason, std::int32_t code) {
  if (reason == Reason::exited) return code & 0xff;
  if (reason == Reason::signalled) return 128 + code;
  return own_failure;
}

}  // namespace cadre::cli
