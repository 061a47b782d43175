#include "access/login_guard.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <limits>
#include <span>

#include "base/check.h"

namespace cadre::access {
namespace {

/// Longer names are cut: they are nobody's, and must not fill the memory.
constexpr std::size_t key_most = 128;

/// Where attempts of one address count. Whoever has an IPv6 address usually has the 2^64 others of its /64 as well. An
/// IPv4 address that is written as an IPv6 one counts as itself.
std::string source_of(const std::string& address) {
  std::array<unsigned char, 16> bytes{};
  if (::inet_pton(AF_INET6, address.substr(0, address.find('%')).c_str(), bytes.data()) != 1) {
    return address.substr(0, key_most);
  }
  constexpr std::array<unsigned char, 12> mapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (std::ranges::equal(mapped, std::span(bytes).first<mapped.size()>())) {
    return ::inet_ntop(AF_INET, bytes.data() + mapped.size(), text.data(), text.size());
  }
  std::fill(bytes.begin() + 8, bytes.end(), 0);
  return std::string(::inet_ntop(AF_INET6, bytes.data(), text.data(), text.size())) + "/64";
}

}  // namespace

// User and address together: failures from elsewhere do not lock a user out.
std::string LoginGuard::key_of_pair(const Attempt& attempt) {
  return "user " + source_of(attempt.address) + " " + attempt.user.substr(0, key_most);
}

std::string LoginGuard::key_of_address(const Attempt& attempt) { return "address " + source_of(attempt.address); }

Duration LoginGuard::wait(const Attempt& attempt, TimePoint now) const {
  const Duration for_user = wait_of(key_of_pair(attempt), settings_.free_failures, now);
  if (attempt.address.empty()) return for_user;
  return std::max(for_user, wait_of(key_of_address(attempt), settings_.free_failures_of_address, now));
}

Duration LoginGuard::wait_of(const std::string& key, std::int32_t free_failures, TimePoint now) const {
  const auto found = entries_.find(key);
  if (found == entries_.end()) return {};
  const Entry& entry = found->second;
  if (entry.failures < free_failures || now - entry.last >= settings_.forget_after) return {};
  Duration whole = std::min(settings_.first_wait, settings_.longest_wait);
  for (std::int32_t more = entry.failures - free_failures; more > 0; --more) {
    if (whole >= settings_.longest_wait / 2) {
      whole = settings_.longest_wait;
      break;
    }
    whole *= 2;
  }
  return std::clamp(entry.last + whole - now, Duration(0), whole);  // never more, should the clock go back
}

void LoginGuard::begin(const Attempt& attempt, TimePoint now) {
  tidy(now);
  count(key_of_pair(attempt), now);
  if (!attempt.address.empty()) count(key_of_address(attempt), now);
  while (entries_.size() > settings_.remembered_max) forget(std::string(by_age_.begin()->second));
}

void LoginGuard::count(const std::string& key, TimePoint now) {
  Entry& entry = entries_[key];
  if (entry.failures > 0) by_age_.erase({entry.last, key});
  if (entry.failures < std::numeric_limits<std::int32_t>::max()) ++entry.failures;
  entry.last_but_one = entry.failures > 1 ? entry.last : now;
  entry.last = now;
  by_age_.insert({now, key});
}

void LoginGuard::pass(const Attempt& attempt) {
  forget(key_of_pair(attempt));
  const std::string key = key_of_address(attempt);
  const auto found = entries_.find(key);
  if (found == entries_.end()) return;
  Entry& entry = found->second;
  if (entry.failures == 1) return forget(key);
  by_age_.erase({entry.last, key});
  --entry.failures;
  entry.last = entry.last_but_one;
  by_age_.insert({entry.last, key});
}

void LoginGuard::forget(const std::string& key) {
  const auto found = entries_.find(key);
  if (found == entries_.end()) return;
  by_age_.erase({found->second.last, key});
  entries_.erase(found);
}

void LoginGuard::tidy(TimePoint now) {
  while (!by_age_.empty() && now - by_age_.begin()->first >= settings_.forget_after) {
    forget(std::string(by_age_.begin()->second));
  }
  CHECK(by_age_.size() == entries_.size());
}

}  // namespace cadre::access
