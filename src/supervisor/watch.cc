#include "supervisor/watch.h"

#include <algorithm>
#include <ctime>
#include <utility>

#include "supervisor/clock.h"

namespace cadre::supervisor {

namespace {

constexpr Duration longest_wait = std::chrono::hours(1);  // the loop goes round, nothing else

}  // namespace

void Watch::add(int fd, short events, std::function<void()> ready) {
  descriptors_.push_back({fd, events, 0});
  calls_.push_back(std::move(ready));
}

void Watch::wait_until(TimePoint deadline) {
  const TimePoint at = now();
  const Duration wait = deadline <= at ? Duration{0} : std::min(deadline - at, longest_wait);
  const timespec limit{wait.count() / 1'000'000'000, wait.count() % 1'000'000'000};
  if (::ppoll(descriptors_.data(), descriptors_.size(), &limit, nullptr) <= 0) return;
  for (std::size_t i = 0; i < descriptors_.size(); ++i) {
    if (descriptors_[i].revents != 0) calls_[i]();
  }
}

}  // namespace cadre::supervisor
