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
  const Duration observed = now - first.time;
  if (observed < observed_least) return std::nullopt;
  // The mean of the rate of the whole time and that of its second half: a search that gets slower or faster counts,
  // single steps do not.
  const TimePoint middle = first.time + observed / 2;
  const auto recent = std::prev(std::find_if(std::next(samples_.begin()), samples_.end(),
                                             [&](const Sample& one) { return one.time > middle; }));
  const double progress = samples_.back().progress;
  const double overall = (progress - first.progress) / seconds_of(observed);
  const double lately = (progress - recent->progress) / seconds_of(now - std::max(recent->time, first.time));
  const double rate = (overall + lately) / 2;
  const double seconds = (1 - progress) / rate;
  if (!(seconds >= 0) || seconds > seconds_of(remaining_most)) return std::nullopt;
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
}

}  // namespace cadre::cli
