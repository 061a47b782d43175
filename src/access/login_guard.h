/// Rate limit of failed logins: after some failures for a user or from an address the next attempt must wait, each time
/// twice as long. Pure; one thread at a time.
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
  std::int32_t free_failures = 5;              ///< of one user from one address, without a wait
  std::int32_t free_failures_of_address = 50;  ///< of all users from one address
  Duration first_wait = std::chrono::seconds(1);
  Duration longest_wait = std::chrono::minutes(5);
  Duration forget_after = std::chrono::hours(1);  ///< without a further failure
  std::size_t remembered_max = 100'000;           ///< users and addresses; the oldest failures are forgotten first
};

/// An attempt to log in as a user, from an address; without an address, only the user counts.
struct Attempt {
  std::string user;
  std::string address;
};

class LoginGuard {
 public:
  explicit LoginGuard(GuardSettings settings) : settings_(settings) {}

  /// How long the attempt must wait from now on; 0: it is allowed.
  [[nodiscard]] Duration wait(const Attempt& attempt, TimePoint now) const;
  /// Starts an attempt. It counts as a failure until pass() is called, so that parallel attempts gain nothing.
  void begin(const Attempt& attempt, TimePoint now);
  /// The login succeeded: the failures of the user are forgotten; those of the address stay, except for this attempt.
  void pass(const Attempt& attempt);
  /// Forgets failures that are too old.
  void tidy(TimePoint now);

  [[nodiscard]] std::size_t remembered() const { return entries_.size(); }

 private:
  struct Entry {
    std::int32_t failures = 0;
    TimePoint last;
    TimePoint last_but_one;  ///< restored when the attempt succeeds
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
