#include "names/registries.h"

#include <optional>

namespace cadre::names {

Registries::Tree* Registries::find(const std::string& name) {
  const auto found = trees_.find(name);
  return found == trees_.end() ? nullptr : &found->second;
}

Result<Registries::Tree*> Registries::open(const std::string& name) {
  if (Tree* tree = find(name)) return tree;
  if (trees_.size() >= options_.trees_max) {
    return fail(Errc::unavailable, "there are names in " + std::to_string(trees_.size()) +
                                       " places, and no more are allowed; restart the master to forget the old ones");
  }
  return &trees_.try_emplace(name, options_.each).first->second;
}

template <class Fn>
auto Registries::with(const std::string& name, Tree& tree, TimePoint now, Fn fn) {
  const std::size_t entries = tree.registry.size();
  const std::size_t bytes = tree.registry.size_bytes();
  auto result = fn(tree.registry);
  const TimePoint next_end = tree.registry.expire(now);
  counters_.entries += static_cast<std::int64_t>(tree.registry.size()) - static_cast<std::int64_t>(entries);
  counters_.bytes += static_cast<std::int64_t>(tree.registry.size_bytes()) - static_cast<std::int64_t>(bytes);
  if (next_end != tree.next_end) {
    ends_.erase({tree.next_end, name});
    if (next_end != TimePoint::max()) ends_.emplace(next_end, name);
    tree.next_end = next_end;
  }
  wake(tree);
  return result;
}

/// Those who wait for what has changed.
void Registries::wake(Tree& tree) {
  if (tree.registry.version() == tree.told) return;
  const auto changed = tree.registry.changed_since(tree.told);
  tree.told = tree.registry.version();
  if (!changed) {  // more than is remembered
    for (const auto& [prefix, watcher] : tree.waiting) woken_.insert(watcher);
    return;
  }
  const auto wake_at = [&](std::string_view prefix) {
    const auto [begin, end] = tree.waiting.equal_range(prefix);
    for (auto at = begin; at != end; ++at) woken_.insert(at->second);
  };
  for (const std::string_view key : *changed) {
    wake_at("");
    for (std::size_t slash = key.find('/'); slash != std::string_view::npos; slash = key.find('/', slash + 1)) {
      wake_at(key.substr(0, slash));
    }
    wake_at(key);
  }
}

template <class Fn>
Result<Epoch> Registries::place(const std::string& name, const Claim& claim, TimePoint now, Fn fn) {
  Result<Epoch> placed = fail(Errc::unavailable, "");
  if (static_cast<std::size_t>(counters_.bytes) + claim.key.size() + claim.value.size() > options_.bytes_max) {
    placed = fail(Errc::unavailable, "all names and their values would have more than " +
                                         std::to_string(options_.bytes_max) + " bytes; remove some first");
  } else if (Result<Tree*> tree = open(name); !tree) {
    placed = Failure(tree.error());
  } else {
    placed = with(name, **tree, now, fn);
  }
  if (!placed && placed.error().code == Errc::unavailable) ++counters_.refused_puts;
  return placed;
}

Result<Epoch> Registries::put(const std::string& tree, const SessionId& session, const Claim& claim, PutMode mode,
                              TimePoint now) {
  return place(tree, claim, now, [&](Registry& registry) { return registry.put(session, claim, mode, now); });
}

Result<Epoch> Registries::restore(const std::string& tree, const SessionId& session, const Claim& claim,
                                  TimePoint now) {
  return place(tree, claim, now, [&](Registry& registry) { return registry.restore(session, claim, now); });
}

std::vector<Hold> Registries::keep(const std::string& tree, const SessionId& session, const std::vector<Claim>& claims,
                                   TimePoint now) {
  const auto keep_in = [&](Registry& registry) {
    std::vector<Hold> holds;
    for (const Claim& claim : claims) holds.push_back(registry.keep(session, claim, now));
    return holds;
  };
  if (Tree* const found = find(tree)) return with(tree, *found, now, keep_in);
  Registry nothing(options_.each);
  return keep_in(nothing);
}

std::size_t Registries::release(const std::string& tree, const SessionId& session, const std::vector<std::string>& keys,
                                TimePoint now) {
  Tree* const found = find(tree);
  if (found == nullptr) return 0;
  return with(tree, *found, now, [&](Registry& registry) {
    registry.expire(now);
    const std::size_t before = registry.size();
    for (const std::string& key : keys) registry.release(session, key, now);
    return before - registry.size();
  });
}

std::optional<Entry> Registries::get(const std::string& tree, const std::string& key, TimePoint now) {
  Tree* const found = find(tree);
  if (found == nullptr) return std::nullopt;
  return with(tree, *found, now, [&](Registry& registry) { return registry.get(key, now); });
}

std::vector<Entry> Registries::list(const std::string& tree, const std::string& prefix, TimePoint now) {
  Tree* const found = find(tree);
  if (found == nullptr) return {};
  return with(tree, *found, now, [&](Registry& registry) { return registry.list(prefix, now); });
}

bool Registries::remove(const std::string& tree, const std::string& key, TimePoint now) {
  Tree* const found = find(tree);
  if (found == nullptr) return false;
  return with(tree, *found, now, [&](Registry& registry) { return registry.remove(key, now); });
}

std::size_t Registries::remove_subtree(const std::string& tree, const std::string& prefix, TimePoint now) {
  Tree* const found = find(tree);
  if (found == nullptr) return 0;
  return with(tree, *found, now, [&](Registry& registry) { return registry.remove_subtree(prefix, now); });
}

Result<std::variant<News, WatcherId>> Registries::watch(const std::string& tree, const Wish& wish, TimePoint now) {
  TRY_ASSIGN(opened, open(tree));
  std::optional<News> news = with(tree, *opened, now, [&](Registry& registry) -> std::optional<News> {
    registry.expire(now);
    if (!registry.has_news(wish.prefix, wish.seen) && wish.until > now) return std::nullopt;
    return registry.news(wish.prefix, wish.seen, now);
  });
  if (news) return *std::move(news);
  if (waiting_.size() >= options_.watchers_max || opened->waiting.size() >= options_.watchers_max_each) {
    ++counters_.refused_watchers;
    return fail(Errc::unavailable, "too many clients already wait for changes of names; try again later");
  }
  const WatcherId watcher{++last_watcher_};
  waiting_.emplace(watcher, Waiting{tree, wish});
  opened->waiting.emplace(wish.prefix, watcher);
  late_.emplace(wish.until, watcher);
  counters_.watchers.set(static_cast<std::int64_t>(waiting_.size()));
  return watcher;
}

void Registries::end_wait(std::map<WatcherId, Waiting>::iterator waiting) {
  const auto& [watcher, what] = *waiting;
  Tree& tree = *find(what.tree);
  const auto [begin, end] = tree.waiting.equal_range(what.wish.prefix);
  for (auto at = begin; at != end; ++at) {
    if (at->second != watcher) continue;
    tree.waiting.erase(at);
    break;
  }
  late_.erase({what.wish.until, watcher});
  woken_.erase(watcher);
  waiting_.erase(waiting);
  counters_.watchers.set(static_cast<std::int64_t>(waiting_.size()));
}

void Registries::forget(WatcherId watcher) {
  if (const auto waiting = waiting_.find(watcher); waiting != waiting_.end()) end_wait(waiting);
}

std::vector<Registries::Notification> Registries::settle(TimePoint now) {
  while (!ends_.empty() && ends_.begin()->first <= now) {
    const std::string name = ends_.begin()->second;
    with(name, *find(name), now, [](Registry&) { return 0; });
  }
  std::vector<Notification> told;
  while (!woken_.empty()) {
    const auto waiting = waiting_.find(*woken_.begin());
    const Wish& wish = waiting->second.wish;
    told.push_back({waiting->first, find(waiting->second.tree)->registry.news(wish.prefix, wish.seen, now)});
    end_wait(waiting);
  }
  while (!late_.empty() && late_.begin()->first <= now) {
    const auto waiting = waiting_.find(late_.begin()->second);
    News nothing;  // nothing changed for this watcher; it continues from the current version
    nothing.next.version = find(waiting->second.tree)->registry.version();
    told.push_back({waiting->first, std::move(nothing)});
    end_wait(waiting);
  }
  return told;
}

TimePoint Registries::next() const {
  TimePoint next = TimePoint::max();
  if (!ends_.empty()) next = std::min(next, ends_.begin()->first);
  if (!late_.empty()) next = std::min(next, late_.begin()->first);
  return next;
}

}  // namespace cadre::names
