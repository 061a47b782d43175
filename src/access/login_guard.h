/// Slows down who guesses passwords: after some failures for a user or from an address the next attempt must wait,
/// each time twice as long. Pure; one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/time.h"

namespace cadre::access {

struct GuardSettings {
  std::int32_t free_failures = 5;              ///< of one user from one address, until one has to wait
  std::int32_t free_failures_of_address = 50;  ///< of all users from one address
  Duration first_wait = std::chrono::seconds(1);
  Duration longest_wait = std::chrono::minutes(5);
  Duration forget_after = std::chrono::hours(1);  ///< without a further failure
  std::size_t remembered_max = 100'000;           ///< users and addresses; who failed longest ago is forgotten first
};

/// Somebody wants to log in as a user, from an address; without one, only the user counts.
struct Attempt {
  std::string user;
  std::string address;
};

class LoginGuard {
 public:
  explicit LoginGuard(GuardSettings settings) : settings_(settings) {}

  /// How long he has to wait from now on; 0: he may try.
  [[nodiscard]] Duration wait(const Attempt& attempt, TimePoint now) const;
  /// He tries. It counts as a failure until it is said to have passed: many attempts at once gain nothing.
  void begin(const Attempt& attempt, TimePoint now);
  /// That was he: the user's failures are forgotten; those from the address stay, but for this attempt.
  void pass(const Attempt& attempt);
  /// Forgets what is too long ago.
  void tidy(TimePoint now);

  [[nodiscard]] std::size_t remembered() const { return entries_.size(); }

 private:
  struct Entry {
    std::int32_t failures = 0;
    TimePoint last;
    TimePoint last_but_one;  ///< for an attempt that turns out to be none
  };

  static std::string key_of_pair(const Attempt& attempt);
  static std::string key_of_address(const Attempt& attempt);
  Duration wait_of(const std::string& key, std::int32_t free_failures, TimePoint now) const;
  void count(const std::string& key, TimePoint now);
  void forget(const std::string& key);

  GuardSettings settings_;
  std::unordered_map<std::string, Entry> entries_;
  std::set<std::pair<TimePoint, std::string>> by_age_;  ///< the same entries by their last failures
};

}  // namespace cadre::access
