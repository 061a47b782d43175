/// How often attempts may fail, by address and in total, in memory that is bounded. Pure: the time is an argument. One
/// thread at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/time.h"

namespace cadre::master {

class AttemptLimit {
 public:
  struct Rules {
    std::int32_t each = 20;                         ///< failures of one address at once,
    Duration each_every = std::chrono::seconds(3);  ///< and one more each time so long has passed
    std::int32_t all = 1'000;                       ///< the same of all together
    Duration all_every = std::chrono::milliseconds(20);
    std::size_t addresses_max = 10'000;
  };
  AttemptLimit() : AttemptLimit(Rules{}) {}
  explicit AttemptLimit(const Rules& rules) : rules_(rules), all_{static_cast<double>(rules.all), {}} {}

  /// How long this address has to wait until its next attempt; nothing: it may try now.
  [[nodiscard]] std::optional<Duration> wait_of(const std::string& address, TimePoint now) const {
    const auto found = addresses_.find(address);
    if (found == addresses_.end()) return std::nullopt;
    const double left = refilled(found->second, rules_.each, rules_.each_every, now);
    if (left >= 1) return std::nullopt;
    return Duration(static_cast<std::int64_t>((1 - left) * static_cast<double>(rules_.each_every.count())));
  }
  /// Whether all together have failed too often: then failures are neither answered nor logged.
  [[nodiscard]] bool is_flooded(TimePoint now) const { return refilled(all_, rules_.all, rules_.all_every, now) < 1; }

  void note_failure(const std::string& address, TimePoint now) {
    take(all_, rules_.all, rules_.all_every, now);
    if (addresses_.size() >= rules_.addresses_max && !addresses_.contains(address)) forget_some(now);
    Bucket& bucket = addresses_.try_emplace(address, Bucket{static_cast<double>(rules_.each), now}).first->second;
    take(bucket, rules_.each, rules_.each_every, now);
  }

  std::size_t addresses() const { return addresses_.size(); }

 private:
  struct Bucket {
    double left = 0;
    TimePoint at;
  };
  static double refilled(const Bucket& bucket, std::int32_t most, Duration every, TimePoint now) {
    const auto passed = static_cast<double>((now - bucket.at).count());
    return std::min(static_cast<double>(most), bucket.left + passed / static_cast<double>(every.count()));
  }
  static void take(Bucket& bucket, std::int32_t most, Duration every, TimePoint now) {
    bucket = {std::max(refilled(bucket, most, every, now) - 1, 0.0), now};
  }
  /// Those that may try as often as if they never had; else, an attacker with many addresses, any.
  void forget_some(TimePoint now) {
    std::erase_if(addresses_, [&](const auto& one) {
      return refilled(one.second, rules_.each, rules_.each_every, now) >= rules_.each;
    });
    while (addresses_.size() >= rules_.addresses_max) addresses_.erase(addresses_.begin());
  }

  const Rules rules_;
  Bucket all_;
  std::map<std::string, Bucket> addresses_;
};

}  // namespace cadre::master
