/// Names by which processes find each other: a tree of small keys, `experiment/trial/role/index`, each with a value (an
/// address, a port, a rank). Who puts a name owns it and keeps it alive; a while after he is gone it is gone for
/// everybody. Names may be used from any thread.
///
///   cadre::Names names;                                        // those of the master; within a task, of its workspace
///   names.put("demo/learner", "tcp://10.0.0.1:7000").value();
///   std::string address = names.wait("demo/learner").value().value;
///
/// Where they are kept is one URL, and the same program runs on each:
///   (nothing), master://[host[:port]][/workspace], masters://…[?ca=FILE]   the cluster's own
///   redis://[[user]:password@]host[:port][/db][?prefix=P], rediss://…[?ca=FILE]
///   file:///absolute/folder      a folder that all share, by NFS too
///   memory://NAME                within this process
/// Whoever keeps them may be lost: then every call says so after a few seconds, and once he is back what this process
/// owns is put again.
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
    std::string value;        ///< any bytes, 64 KiB at most
    std::uint64_t epoch = 0;  ///< of its owner: later owners have larger ones
  };
  struct Change {
    enum class Kind : std::uint8_t {
      put,   ///< new, or another value, or another owner
      gone,  ///< with what it was last
    };
    Kind kind = Kind::put;
    Entry entry;
  };
  /// How a name is put.
  struct Putting {
    Wait ttl = std::chrono::seconds(10);  ///< it is gone so long after its owner; 50 ms to 24 h
    bool only_if_absent = false;          ///< `conflict` when somebody has it; else he loses it
  };

  /// Tells what is there and then what changes. One thread at a time; ending it ends the watch.
  class Watch {
   public:
    Watch(Watch&&) noexcept;
    Watch& operator=(Watch&&) noexcept;
    ~Watch();
    /// The next change; `timed_out` when there is none in time. What changes again before it was asked for is told
    /// once, as it is then: how it stands in the end is always told.
    Outcome<Change> next(Wait wait = std::chrono::seconds(30));

   private:
    friend class Names;
    struct State;
    Watch(std::shared_ptr<Inside> inside, std::shared_ptr<State> state);
    std::shared_ptr<Inside> inside_;  // shared with the names that it watches
    std::shared_ptr<State> state_;    // shared with who fills it
  };

  /// Does not wait: what is wrong with the URL each call says.
  explicit Names(std::string url = "");
  Names(Names&&) noexcept;
  Names& operator=(Names&&) noexcept;
  /// As close().
  ~Names();

  /// The epoch of the ownership. To put one's own again changes its value and keeps the epoch.
  Outcome<std::uint64_t> put(std::string_view key, std::string_view value, const Putting& how);
  Outcome<std::uint64_t> put(std::string_view key, std::string_view value) { return put(key, value, Putting{}); }
  /// `not_found` when nobody has it.
  Outcome<Entry> get(std::string_view key);
  /// As soon as somebody has it; `timed_out` when nobody has in time.
  Outcome<Entry> wait(std::string_view key, Wait wait = std::chrono::seconds(30));
  /// Those at or below a prefix of whole parts, sorted: `a/b` is before `a/b/c`, not before `a/bc`; empty: all.
  Outcome<std::vector<Entry>> list(std::string_view prefix = "");
  Outcome<Watch> watch(std::string_view prefix = "");
  /// Whoever has it. `not_found` when nobody does.
  Outcome<void> remove(std::string_view key);
  /// All at or below the prefix, whoever has them; how many there were.
  Outcome<std::uint64_t> remove_subtree(std::string_view prefix);

  /// Is called, on some thread of the library, with each own name that another took or removed; it is not kept alive
  /// any more. It must not wait, and may not call these functions.
  void on_lost(std::function<void(const std::string& key)> call);

  /// Removes what is its own, for which it waits a second at most, and ends all watches.
  void close();

 private:
  std::shared_ptr<Inside> inside_;  // shared with its watches
};

}  // namespace cadre
