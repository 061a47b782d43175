/// The registries of many trees, such as one for each workspace, and who waits for news of them: what the master
/// serves. A core: the time is an argument, and never goes back. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/id.h"
#include "base/metric.h"
#include "base/result.h"
#include "base/time.h"
#include "names/registry.h"

namespace cadre::names {

/// Who waits for news, once.
using WatcherId = Id<struct WatcherTag>;

struct RegistriesOptions {
  RegistryOptions each;
  std::size_t trees_max = 20'000;
  std::size_t bytes_max = std::size_t{512} << 20;  ///< of keys and values in all trees
  std::size_t watchers_max = 10'000;
  std::size_t watchers_max_each = 5'000;  ///< of one tree
};

class Registries {
 public:
  explicit Registries(RegistriesOptions options) : options_(options) {}

  /// What is refused for want of room is `unavailable`, and counted; for the rest see Registry.

  [[nodiscard]] Result<Epoch> put(const std::string& tree, const SessionId& session, const Claim& claim, PutMode mode,
                                  TimePoint now);
  [[nodiscard]] Result<Epoch> restore(const std::string& tree, const SessionId& session, const Claim& claim,
                                      TimePoint now);
  [[nodiscard]] std::vector<Hold> keep(const std::string& tree, const SessionId& session,
                                       const std::vector<Claim>& claims, TimePoint now);
  /// How many of them were the session's.
  std::size_t release(const std::string& tree, const SessionId& session, const std::vector<std::string>& keys,
                      TimePoint now);
  [[nodiscard]] std::optional<Entry> get(const std::string& tree, const std::string& key, TimePoint now);
  [[nodiscard]] std::vector<Entry> list(const std::string& tree, const std::string& prefix, TimePoint now);
  bool remove(const std::string& tree, const std::string& key, TimePoint now);
  std::size_t remove_subtree(const std::string& tree, const std::string& prefix, TimePoint now);

  struct Wish {
    std::string prefix;
    std::uint64_t seen = 0;  ///< the version up to which all is known; 0: nothing is
    TimePoint until;         ///< when the answer is that nothing has changed
  };
  /// Returns the news at once or, if there are none, the id of a watcher: settle() delivers its news.
  [[nodiscard]] Result<std::variant<News, WatcherId>> watch(const std::string& tree, const Wish& wish, TimePoint now);
  /// Removes a watcher.
  void forget(WatcherId watcher);

  struct Notification {
    WatcherId watcher;
    News news;
  };
  /// Whose wait is over. To be called after whatever may change something, and at next().
  [[nodiscard]] std::vector<Notification> settle(TimePoint now);
  /// When something runs out next, or somebody has waited for long enough; max: never.
  TimePoint next() const;

  struct Counters {
    MetricSet metrics;
    Gauge entries{metrics, "names", "Number of names in the registry."};
    Gauge bytes{metrics, "names_bytes", "Size of names and their values, in bytes."};
    Gauge watchers{metrics, "names_watchers", "Number of requests that wait for changes of names."};
    Counter refused_puts{metrics, "names_refused_total", "Number of names refused because a limit was reached."};
    Counter refused_watchers{metrics, "names_refused_watchers_total",
                             "Number of watch requests refused because a limit was reached."};
  };
  const Counters& counters() const { return counters_; }

 private:
  struct Tree {
    explicit Tree(const RegistryOptions& options) : registry(options), told(registry.version()) {}
    Registry registry;
    std::uint64_t told;  ///< the version of which all who wait have heard
    TimePoint next_end = TimePoint::max();
    std::multimap<std::string, WatcherId, std::less<>> waiting;  ///< by prefix
  };
  struct Waiting {
    std::string tree;
    Wish wish;
  };

  Result<Tree*> open(const std::string& name);
  Tree* find(const std::string& name);
  /// Does something with a registry, and notes what came of it.
  template <class Fn>
  auto with(const std::string& name, Tree& tree, TimePoint now, Fn fn);
  template <class Fn>
  Result<Epoch> place(const std::string& name, const Claim& claim, TimePoint now, Fn fn);
  void wake(Tree& tree);
  void end_wait(std::map<WatcherId, Waiting>::iterator waiting);

  const RegistriesOptions options_;
  std::map<std::string, Tree> trees_;
  std::set<std::pair<TimePoint, std::string>> ends_;  ///< of trees in which something runs out
  std::map<WatcherId, Waiting> waiting_;
  std::set<std::pair<TimePoint, WatcherId>> late_;
  std::set<WatcherId> woken_;
  std::uint64_t last_watcher_ = 0;
  Counters counters_;
};

}  // namespace cadre::names
