#include "cli/experiment/progress_estimate.h"

#include <algorithm>

namespace cadre::cli {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t samples_most = 256;
/// Before that much was seen, an estimate would be a guess.
constexpr Duration observed_least = 5s;
constexpr std::size_t steps_least = 2;
constexpr Duration remaining_most = std::chrono::hours(24 * 365);

double seconds_of(Duration duration) { return std::chrono::duration<double>(duration).count(); }

}  // namespace

void ProgressEstimate::add(TimePoint now, double progress) {
  if (!samples_.empty() && progress < samples_.back().progress) reset();
  if (!samples_.empty() && progress == samples_.back().progress) return;
  samples_.push_back({now, progress});
  if (samples_.size() <= samples_most) return;
  std::deque<Sample> kept;
  for (std::size_t i = 0; i < samples_.size(); i += 2) kept.push_back(samples_[i]);
  if (kept.back().time != samples_.back().time) kept.push_back(samples_.back());
  samples_ = std::move(kept);
}

std::optional<Duration> ProgressEstimate::remaining(TimePoint now) const {
  if (samples_.size() < steps_least + 1) return std::nullopt;
  const Sample& first = samples_.front();
  const Sample& last = samples_.back();
  if (now - first.time < observed_least) return std::nullopt;
  // The next step is under way: part of it counts, so that the estimate does not rise until that step is late.
  const auto steps = static_cast<double>(samples_.size() - 1);
  const double step = (last.progress - first.progress) / steps;
  const double interval = seconds_of(last.time - first.time) / steps;
  const double share = std::min(1.0, seconds_of(now - last.time) / std::max(interval, 1e-9));
  const double progress = std::min(1.0, last.progress + step * share);
  // The mean of the rate of the whole time and that of its second half: a search that gets slower or faster counts,
  // single steps do not.
  const TimePoint middle = first.time + (now - first.time) / 2;
  const auto recent = std::prev(
      std::find_if(std::next(samples_.begin()), samples_.end(), [&](const Sample& one) { return one.time > middle; }));
  const double overall = (progress - first.progress) / seconds_of(now - first.time);
  const double lately = (progress - recent->progress) / seconds_of(now - recent->time);
  const double seconds = (1 - progress) / ((overall + lately) / 2);
  if (!(seconds >= 0) || seconds > seconds_of(remaining_most)) return std::nullopt;
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
}

}  // namespace cadre::cli
