#include "names/registry.h"

#include <algorithm>

namespace cadre::names {

void Registry::changed(const std::string& key) {
  history_.emplace_back(++version_, key);
  while (history_.size() > options_.history_max) {
    oldest_ = history_.front().first;
    history_.pop_front();
  }
}

Result<void> Registry::check_room(Map::const_iterator held, const Claim& claim) const {
  const bool is_new = held == held_.end();
  if (is_new && held_.size() >= options_.entries_max) {
    return fail(Errc::unavailable, "there are " + std::to_string(options_.entries_max) +
                                       " names, and no more are allowed; remove some first");
  }
  const std::size_t freed = is_new ? 0 : held->first.size() + held->second.value.size();
  if (size_bytes_ - freed + claim.key.size() + claim.value.size() <= options_.bytes_max) return {};
  return fail(Errc::unavailable, "the names and their values would have more than " +
                                     std::to_string(options_.bytes_max) + " bytes; remove some first");
}

void Registry::place(const std::string& key, Held held) {
  ended_.erase(key);
  const auto [at, is_new] = held_.try_emplace(key);
  if (!is_new) ends_.erase({at->second.end, key});
  ends_.emplace(held.end, key);
  size_bytes_ += (is_new ? key.size() : 0) + held.value.size() - at->second.value.size();
  at->second = std::move(held);
}

void Registry::set_end(Map::iterator held, TimePoint end) {
  ends_.erase({held->second.end, held->first});
  held->second.end = end;
  ends_.emplace(end, held->first);
}

void Registry::drop(Map::iterator held, Epoch last) {
  ended_.insert_or_assign(held->first, last);
  ended_order_.emplace_back(held->first, last);
  while (ended_order_.size() > options_.ended_max) {
    const auto& [key, epoch] = ended_order_.front();
    if (const auto found = ended_.find(key); found != ended_.end() && found->second == epoch) {
      ended_.erase(found);
      forgotten_ = std::max(forgotten_, epoch);
    }
    ended_order_.pop_front();
  }
  ends_.erase({held->second.end, held->first});
  size_bytes_ -= held->first.size() + held->second.value.size();
  held_.erase(held);
}

TimePoint Registry::expire(TimePoint now) {
  while (!ends_.empty() && ends_.begin()->first <= now) {
    const auto held = held_.find(ends_.begin()->second);
    changed(held->first);
    drop(held, held->second.epoch);
  }
  return ends_.empty() ? TimePoint::max() : ends_.begin()->first;
}

Result<Epoch> Registry::put(const SessionId& session, const Claim& claim, PutMode mode, TimePoint now) {
  expire(now);
  const auto held = held_.find(claim.key);
  const bool is_own = held != held_.end() && held->second.session == session;
  if (held != held_.end() && !is_own && mode == PutMode::only_if_absent) {
    return fail(Errc::conflict, "the name " + claim.key + " already exists");
  }
  TRY(check_room(held, claim));
  if (is_own) {
    if (held->second.value != claim.value) changed(claim.key);
    const Epoch epoch = held->second.epoch;
    place(claim.key, {claim.value, epoch, session, now + claim.ttl});
    return epoch;
  }
  changed(claim.key);
  place(claim.key, {claim.value, Epoch{version_}, session, now + claim.ttl});
  return Epoch{version_};
}

Hold Registry::keep(const SessionId& session, const Claim& claim, TimePoint now) {
  expire(now);
  const auto held = held_.find(claim.key);
  if (held == held_.end()) return may_restore(session, claim) ? Hold::gone : Hold::lost;
  if (held->second.session == session && held->second.epoch == claim.epoch) {
    set_end(held, now + claim.ttl);
    return Hold::kept;
  }
  return may_restore(session, claim) ? Hold::gone : Hold::lost;
}

/// After a restart nobody is known, and of those who say that they had a key the last owner is right.
bool Registry::may_restore(const SessionId& session, const Claim& claim) const {
  if (claim.epoch.value > version_) return false;  // of no registry that this one follows
  if (const auto held = held_.find(claim.key); held != held_.end()) {
    return held->second.session == session || held->second.epoch < claim.epoch;
  }
  if (const auto ended = ended_.find(claim.key); ended != ended_.end()) return ended->second == claim.epoch;
  return claim.epoch > forgotten_;
}

Result<Epoch> Registry::restore(const SessionId& session, const Claim& claim, TimePoint now) {
  expire(now);
  if (!may_restore(session, claim)) {
    return fail(Errc::conflict, "the name " + claim.key + " was taken over by another process, or removed");
  }
  const auto held = held_.find(claim.key);
  if (held != held_.end() && held->second.session == session) {
    set_end(held, now + claim.ttl);
    return held->second.epoch;
  }
  TRY(check_room(held, claim));
  changed(claim.key);
  place(claim.key, {claim.value, claim.epoch, session, now + claim.ttl});
  return claim.epoch;
}

void Registry::release(const SessionId& session, const std::string& key, TimePoint now) {
  expire(now);
  if (const auto held = held_.find(key); held != held_.end() && held->second.session == session) remove(key, now);
}

std::optional<Entry> Registry::get(const std::string& key, TimePoint now) {
  expire(now);
  const auto held = held_.find(key);
  if (held == held_.end()) return std::nullopt;
  return Entry{key, held->second.value, held->second.epoch};
}

Registry::Map::iterator Registry::first_below(std::string_view prefix) {
  return skip_to_below(held_.lower_bound(prefix), prefix);
}

Registry::Map::iterator Registry::next_below(Map::iterator held, std::string_view prefix) {
  return skip_to_below(std::next(held), prefix);
}

/// Between a/b and a/b/c there may be a/b-c.
Registry::Map::iterator Registry::skip_to_below(Map::iterator held, std::string_view prefix) {
  if (held == held_.end() || is_below(held->first, prefix)) return held;
  const std::string below = std::string(prefix) + "/";
  if (held->first < below) held = held_.lower_bound(below);
  return held != held_.end() && is_below(held->first, prefix) ? held : held_.end();
}

std::vector<Entry> Registry::list(std::string_view prefix, TimePoint now) {
  expire(now);
  std::vector<Entry> entries;
  for (auto held = first_below(prefix); held != held_.end(); held = next_below(held, prefix)) {
    entries.push_back({held->first, held->second.value, held->second.epoch});
  }
  return entries;
}

bool Registry::remove(const std::string& key, TimePoint now) {
  expire(now);
  const auto held = held_.find(key);
  if (held == held_.end()) return false;
  changed(key);
  drop(held, Epoch{version_});
  return true;
}

std::size_t Registry::remove_subtree(std::string_view prefix, TimePoint now) {
  expire(now);
  std::size_t removed = 0;
  for (auto held = first_below(prefix); held != held_.end(); ++removed) {
    const auto next = next_below(held, prefix);
    changed(held->first);
    drop(held, Epoch{version_});
    held = next;
  }
  return removed;
}

bool Registry::has_news(std::string_view prefix, std::uint64_t since) const {
  if (since < oldest_ || since > version_) return true;
  for (auto change = history_.rbegin(); change != history_.rend() && change->first > since; ++change) {
    if (is_below(change->second, prefix)) return true;
  }
  return false;
}

std::optional<std::vector<std::string>> Registry::changed_since(std::uint64_t since) const {
  if (since < oldest_) return std::nullopt;
  std::vector<std::string> keys;
  for (auto change = history_.rbegin(); change != history_.rend() && change->first > since; ++change) {
    keys.push_back(change->second);
  }
  return keys;
}

News Registry::news(std::string_view prefix, std::uint64_t since, TimePoint now) {
  expire(now);
  News news;
  news.next.version = version_;
  if (since < oldest_ || since > version_) {
    news.is_all = true;
    news.put = list(prefix, now);
    return news;
  }
  std::set<std::string_view> keys;
  for (auto change = history_.rbegin(); change != history_.rend() && change->first > since; ++change) {
    if (is_below(change->second, prefix)) keys.insert(change->second);
  }
  for (const std::string_view key : keys) {
    if (const auto held = held_.find(key); held != held_.end()) {
      news.put.push_back({held->first, held->second.value, held->second.epoch});
    } else {
      news.gone.emplace_back(key);
    }
  }
  return news;
}

}  // namespace cadre::names
