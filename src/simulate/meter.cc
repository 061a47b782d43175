#include "simulate/meter.h"

#include <algorithm>

namespace cadre::simulate {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t columns = 72;

Duration percentile(std::vector<Duration>& sorted, std::size_t percent) {
  return sorted.empty() ? Duration(0) : sorted[std::min(sorted.size() - 1, sorted.size() * percent / 100)];
}

Waits summary(const std::string& name, std::vector<Duration> waits) {
  std::sort(waits.begin(), waits.end());
  return {name,
          static_cast<std::int64_t>(waits.size()),
          percentile(waits, 50),
          percentile(waits, 90),
          percentile(waits, 99),
          waits.empty() ? Duration(0) : waits.back()};
}

std::string size_class(std::int64_t slots) {
  if (slots == 0) return "without slots";
  if (slots == 1) return "1 slot";
  if (slots <= 8) return "2 to 8 slots";
  return "over 8 slots";
}

double milliseconds(Duration duration) { return static_cast<double>(duration.count()) / 1e6; }

}  // namespace

void Meter::advance(Duration now) {
  while (until_ < now) {
    const Duration minute_end = (until_ / 1min + 1) * 1min;
    const Duration to = std::min<Duration>(minute_end, now);
    Minute& minute = minute_at(until_);
    const std::int64_t ms = (to - until_) / 1ms;
    minute.used_slot_ms += used_ * ms;
    minute.slot_ms += all_ * ms;
    minute.queued = std::max(minute.queued, queued_);
    until_ = to;
  }
}

Meter::Minute& Meter::minute_at(Duration now) {
  const auto index = static_cast<std::size_t>(now / 1min);
  if (index >= minutes_.size()) minutes_.resize(index + 1);
  return minutes_[index];
}

void Meter::slots_changed(Duration now, std::int64_t used_change, std::int64_t all_change) {
  advance(now);
  used_ += used_change;
  all_ += all_change;
}

void Meter::queue_is(Duration now, std::int64_t queued) {
  advance(now);
  queued_ = queued;
  Minute& minute = minute_at(now);
  minute.queued = std::max(minute.queued, queued);
}

void Meter::first_start(const plan::Gang& gang, Duration waited) {
  waits_["all"].push_back(waited);
  waits_[size_class(slots_to_start(gang.wants))].push_back(waited);
  waits_["priority " + std::to_string(gang.priority)].push_back(waited);
}

void Meter::finish(Report& report, Duration lasted) {
  advance(lasted);
  report.lasted = lasted;
  std::int64_t used = 0;
  std::int64_t all = 0;
  for (const Minute& minute : minutes_) {
    used += minute.used_slot_ms;
    all += minute.slot_ms;
    report.deepest_queue = std::max(report.deepest_queue, minute.queued);
  }
  report.slots_used_permille = all == 0 ? 0 : static_cast<std::int64_t>(static_cast<__int128>(used) * 1000 / all);
  const std::size_t count = std::min(columns, minutes_.size());
  for (std::size_t i = 0; i < count; ++i) {
    Minute sum;
    const std::size_t from = i * minutes_.size() / count;
    for (std::size_t m = from; m < (i + 1) * minutes_.size() / count; ++m) {
      sum.used_slot_ms += minutes_[m].used_slot_ms;
      sum.slot_ms += minutes_[m].slot_ms;
      sum.queued = std::max(sum.queued, minutes_[m].queued);
    }
    const std::int64_t share =
        sum.slot_ms == 0 ? 0 : static_cast<std::int64_t>(static_cast<__int128>(sum.used_slot_ms) * 1000 / sum.slot_ms);
    report.samples.push_back({static_cast<std::int64_t>(from) * Duration(1min), share, sum.queued});
  }
  report.waits.push_back(summary("all", waits_["all"]));
  for (const auto& [name, waits] : waits_) {
    if (name != "all") report.waits.push_back(summary(name, waits));
  }
}

Timings Meter::timings(std::int64_t placements) const {
  std::vector<Duration> sorted = plans_;
  std::sort(sorted.begin(), sorted.end());
  Duration total{};
  for (const Duration one : sorted) total += one;
  Timings timings;
  timings.cpu_seconds = milliseconds(total) / 1000;
  timings.placements_per_cpu_second = total.count() == 0 ? 0 : static_cast<double>(placements) / timings.cpu_seconds;
  timings.plan_p50_ms = milliseconds(percentile(sorted, 50));
  timings.plan_p99_ms = milliseconds(percentile(sorted, 99));
  timings.plan_max_ms = sorted.empty() ? 0 : milliseconds(sorted.back());
  return timings;
}

}  // namespace cadre::simulate
