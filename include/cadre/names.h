/// Names provide service discovery: a tree of small keys, `experiment/trial/role/index`, each with a value (an address,
/// a port, a rank). The process that puts a name owns it and keeps it alive. When that process is gone, the name
/// expires for all clients. All functions are thread-safe.
///
///   cadre::Names names;                                        // names in the master; in a task, of its workspace
///   names.put("demo/learner", "tcp://10.0.0.1:7000").value();
///   std::string address = names.wait("demo/learner").value().value;
///
/// A URL selects the backend. The same program runs on each of them:
///   (nothing), master://[host[:port]][/workspace], masters://…[?ca=FILE]   the cluster's master
///   redis://[[user]:password@]host[:port][/db][?prefix=P], rediss://…[?ca=FILE]
///   file:///absolute/folder      a shared folder, also on NFS
///   memory://NAME                this process
/// If the backend is lost, every call fails after a few seconds. When it is back, this process puts its names again.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cadre/outcome.h"

namespace cadre {

class Names {
 private:
  struct Inside;

 public:
  struct Entry {
    std::string key;
    std::string value;        ///< any bytes, at most 64 KiB
    std::uint64_t epoch = 0;  ///< epoch of the owner; later owners have larger epochs
  };
  struct Change {
    enum class Kind : std::uint8_t {
      put,   ///< the name is new, or has a new value or owner
      gone,  ///< the name was removed or has expired; `entry` is the last one
    };
    Kind kind = Kind::put;
    Entry entry;
  };
  /// Options for putting a name.
  struct Putting {
    Wait ttl = std::chrono::seconds(10);  ///< time after the end of its owner until it expires; 50 ms to 24 h
    bool only_if_absent = false;          ///< fail with `conflict` if the name exists, instead of taking it over
  };

  /// Returns existing names, then changes. For one thread at a time. Destroying it ends the watch.
  class Watch {
   public:
    Watch(Watch&&) noexcept;
    Watch& operator=(Watch&&) noexcept;
    ~Watch();
    /// Returns the next change; `timed_out` if there is none in time. Several changes of one name between two calls are
    /// merged into the latest; the final state is always delivered.
    Outcome<Change> next(Wait wait = std::chrono::seconds(30));

   private:
    friend class Names;
    struct State;
    Watch(std::shared_ptr<Inside> inside, std::shared_ptr<State> state);
    std::shared_ptr<Inside> inside_;  // shared with the names that it watches
    std::shared_ptr<State> state_;    // shared with the thread that fills it
  };

  /// Does not block. If the URL is invalid, each call fails.
  explicit Names(std::string url = "");
  Names(Names&&) noexcept;
  Names& operator=(Names&&) noexcept;
  /// Like close().
  ~Names();

  /// Puts a name, keeps it alive and returns its epoch. Putting an own name again changes its value and keeps the
  /// epoch.
  Outcome<std::uint64_t> put(std::string_view key, std::string_view value, const Putting& how);
  Outcome<std::uint64_t> put(std::string_view key, std::string_view value) { return put(key, value, Putting{}); }
  /// Returns the entry; `not_found` if there is none.
  Outcome<Entry> get(std::string_view key);
  /// Waits until the name exists and returns its entry; `timed_out` if it does not appear in time.
  Outcome<Entry> wait(std::string_view key, Wait wait = std::chrono::seconds(30));
  /// Entries at or below a prefix of whole parts, sorted: `a/b` is a prefix of `a/b/c`, not of `a/bc`. Empty: all.
  Outcome<std::vector<Entry>> list(std::string_view prefix = "");
  Outcome<Watch> watch(std::string_view prefix = "");
  /// Removes a name, whichever process owns it; `not_found` if there is none.
  Outcome<void> remove(std::string_view key);
  /// Removes all names at or below the prefix, of all owners; returns their number.
  Outcome<std::uint64_t> remove_subtree(std::string_view prefix);

  /// Sets a callback for each own name that another process took over or removed. It is called on a thread of the
  /// library, and must not block or call these functions.
  void on_lost(std::function<void(const std::string& key)> call);

  /// Removes the names of this object, waiting for at most a second, and ends all watches.
  void close();

 private:
  std::shared_ptr<Inside> inside_;  // shared with its watches
};

}  // namespace cadre
