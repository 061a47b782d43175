/// Who is where: a tree of small keys, `experiment/trial/role/index`, whose entries live as long as somebody keeps them
/// alive. One object is one session, for its loop's thread. A lost backend is an error within a bounded time, then it
/// is found again: nothing here waits for ever.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "loop/blocking_pool.h"
#include "loop/real_loop.h"
#include "loop/task.h"
#include "names/entry.h"
#include "names/follower.h"
#include "names/url.h"

namespace cadre::names {

struct Options {
  Duration op_wait = std::chrono::seconds(5);      ///< for each operation but wait(), which has its own deadline
  Duration poll = std::chrono::milliseconds(100);  ///< between two looks at what nobody tells of: shared folders
  Duration backoff_max = std::chrono::seconds(2);  ///< between two attempts to find a lost backend
  std::size_t entries_max = 10'000;                ///< that this session holds
  std::size_t watches_max = 1'000;
  std::size_t listed_max = 100'000;  ///< entries in one answer
};

struct PutOptions {
  Duration ttl = std::chrono::seconds(10);
  PutMode mode = PutMode::over;
};

/// Ending it ends the watch; its handler may do so. Afterwards the handler is not called.
class [[nodiscard]] Watch {
 public:
  class State;
  Watch() = default;
  explicit Watch(std::shared_ptr<State> state) : state_(std::move(state)) {}
  Watch(Watch&&) noexcept = default;
  Watch& operator=(Watch&& other) noexcept;
  ~Watch();

 private:
  std::shared_ptr<State> state_;  // shared with a handler that is being called
};

/// `invalid` for a key, value or time that cannot be; `unavailable` when the backend cannot be reached (nothing was
/// done), `timed_out` when it does not answer (it may have been done), `denied` when it does not let us in.
///
/// Who puts an entry owns it: the session keeps it alive, and puts it back should the backend have lost it, until it is
/// removed or another takes it. Tasks must have ended before the session does. Ending the session removes its entries,
/// soon and without waiting; where that is not possible they run out.
class Names {
 public:
  virtual ~Names() = default;

  /// The epoch of the ownership. To put one's own again changes its value and keeps the epoch.
  [[nodiscard]] virtual loop::Task<Result<Epoch>> put(std::string key, std::string value, PutOptions options) = 0;
  [[nodiscard]] virtual loop::Task<Result<Entry>> get(std::string key) = 0;
  /// As soon as there is one; `timed_out` if not by the deadline, which is in the loop's time. It is looked once at
  /// least, for which it may take a second longer.
  [[nodiscard]] virtual loop::Task<Result<Entry>> wait(std::string key, TimePoint deadline) = 0;
  /// Sorted by key. An empty prefix is everything.
  [[nodiscard]] virtual loop::Task<Result<std::vector<Entry>>> list(std::string prefix) = 0;
  /// Whoever owns it. `not_found` when nobody does.
  [[nodiscard]] virtual loop::Task<Result<void>> remove(std::string key) = 0;
  /// All at or below the prefix, whoever owns them; how many there were.
  [[nodiscard]] virtual loop::Task<Result<std::size_t>> remove_subtree(std::string prefix) = 0;

  /// Removes what is the session's, as its end does; goes on when that was done, or tried.
  [[nodiscard]] virtual loop::Task<void> release_own() = 0;

  using Handler = std::function<void(const Change&)>;
  /// Tells the handler, which may not end the session, what is there and then what changes: each change once, for each
  /// key in order. What was there for less time than it takes to look may be left out; how it stands in the end is
  /// always told, also after the backend was lost for a while.
  [[nodiscard]] virtual Result<Watch> watch(std::string prefix, Handler handler) = 0;

  /// Is told of entries of this session that another took or removed; they are not kept alive any more. May not end
  /// the session.
  virtual void on_lost(std::function<void(const std::string& key)> handler) = 0;
};

/// Chooses by the URL; finding the backend is begun, not awaited:
///   memory://NAME                  within this process
///   file:///absolute/folder        a folder that all share, by NFS too
///   redis://[[user]:password@]host[:port][/db][?prefix=P]
///   rediss://…[?ca=FILE]           the same over TLS; whose certificates are believed, else those of the system
///   master://[:token@]host[:port][/workspace]  the cluster's own; that of the task that asks, else the default one
///   masters://…[?ca=FILE]          the same over TLS
/// The pool does what blocks on files; both outlive the session.
[[nodiscard]] Result<std::unique_ptr<Names>> open(loop::RealLoop& loop, loop::BlockingPool& pool, std::string_view url,
                                                  const Options& options = {});
[[nodiscard]] Result<std::unique_ptr<Names>> open(loop::RealLoop& loop, loop::BlockingPool& pool, const Url& url,
                                                  const Options& options = {});

/// memory://NAME on any loop, for instance a simulated one.
[[nodiscard]] std::unique_ptr<Names> open_memory(loop::Loop& loop, const std::string& name,
                                                 const Options& options = {});

}  // namespace cadre::names
