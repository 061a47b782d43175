#include "access/login_guard.h"

#include <algorithm>
#include <limits>
#include <string_view>
#include <vector>

#include "base/check.h"

namespace cadre::access {
namespace {

/// Longer names are cut: they are nobody's, and must not fill the memory.
constexpr std::size_t key_most = 128;

void add_groups(std::string_view text, std::vector<std::string_view>& groups) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(':'), text.size());
    groups.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

/// Where attempts of one address count: a client with an IPv6 address usually has all others of its /64 as well.
std::string source_of(const std::string& address) {
  constexpr std::size_t groups_of_address = 8;
  constexpr std::size_t groups_of_network = 4;
  const std::string_view text = std::string_view(address).substr(0, key_most);
  if (text.find(':') == std::string_view::npos) return std::string(text);
  const std::size_t gap = text.find("::");
  std::vector<std::string_view> groups;
  std::vector<std::string_view> last;
  add_groups(text.substr(0, gap), groups);
  if (gap != std::string_view::npos) add_groups(text.substr(gap + 2), last);
  while (groups.size() + last.size() < groups_of_address) groups.emplace_back("0");
  groups.insert(groups.end(), last.begin(), last.end());
  std::string network;
  for (std::size_t i = 0; i < groups_of_network; ++i) network.append(groups[i]) += ':';
  return network + ":/64";
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
