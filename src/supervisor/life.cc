#include "supervisor/life.h"

#include <algorithm>

namespace cadre::supervisor {

TimePoint later(TimePoint at, Duration wait) {
  if (wait >= TimePoint::max() - at) return TimePoint::max();
  return at + std::max(wait, Duration{0});
}

void Life::heard(TimePoint now) {
  if (heard_at_) heard_at_ = now;
}

void Life::promised(TimePoint now) { heard_at_ = now; }

void Life::was_suspended(Duration time) {
  if (heard_at_) heard_at_ = later(*heard_at_, time);
  if (stop_) stop_->until = later(stop_->until, time);
}

bool Life::stop(cluster::lease::Reason why, Duration grace, TimePoint now) {
  const TimePoint until = later(now, grace);
  if (stop_ && until >= stop_->until) return false;
  stop_ = Stopping{why, stop_ ? stop_->since : now, until};
  return true;
}

Duration Life::grace_left(TimePoint now) const { return std::max(stop_->until - now, Duration{0}); }

std::optional<Verdict> Life::verdict(TimePoint now) const {
  if (stop_ && now >= stop_->until) return Verdict::grace_over;
  if (alone_since_ && now >= later(*alone_since_, rules_.abandon_after)) return Verdict::abandoned;
  if (permitted_until_ && now >= *permitted_until_) return Verdict::abandoned;
  if (heard_at_ && now >= later(*heard_at_, rules_.liveness)) return Verdict::silent;
  return std::nullopt;
}

TimePoint Life::next() const {
  TimePoint next = TimePoint::max();
  if (stop_) next = std::min(next, stop_->until);
  if (alone_since_) next = std::min(next, later(*alone_since_, rules_.abandon_after));
  if (permitted_until_) next = std::min(next, *permitted_until_);
  if (heard_at_) next = std::min(next, later(*heard_at_, rules_.liveness));
  return next;
}

}  // namespace cadre::supervisor
