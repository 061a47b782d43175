/// What the two sides of a member share: the switchboard, which belongs to the loop, and those who call from any
/// thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "client/actors/callbacks.h"
#include "client/components/promise.h"
#include "remote/group_core.h"

namespace cadre::client {

/// What to do with a message for which there is no room.
enum class Overflow : std::uint8_t { block, fail, drop_oldest };

struct MemberOptions {
  std::string group;
  std::string type;
  std::string name;                          ///< empty: one is made up
  std::string names;                         ///< a URL, as for open_names
  std::string host = "127.0.0.1";            ///< where others reach it
  std::map<std::string, std::size_t> peers;  ///< how many of each type are expected
  bool uses_sockets_of_host = true;          ///< to speak with members on the same host, in place of the network
  Overflow overflow = Overflow::block;
  remote::GroupCore::Options rules;  ///< of which group and self are filled in
};

struct Membership {
  using Wish = remote::GroupCore::Wish;

  /// An answer that somebody waits for, or that is promised.
  struct Awaited {
    std::optional<Result<remote::Note>> outcome;
    std::shared_ptr<Promise> promise;
  };
  /// A message that waits for room while its sender does not.
  struct Deferred {
    std::string peer;
    Wish wish;
    std::optional<TimePoint> answer_by;
    TimePoint deadline;
    std::shared_ptr<Promise> promise;
  };
  /// A promise and what it is to hold; it is told when the lock is free.
  using Kept = std::vector<std::pair<std::shared_ptr<Promise>, Result<remote::Note>>>;

  explicit Membership(MemberOptions o) : options(std::move(o)) {}

  // With the lock held.
  std::optional<Error> obstacle() const;
  /// Nothing: there is no room.
  std::optional<Result<std::uint64_t>> try_put(const std::string& peer, const Wish& wish,
                                               std::optional<TimePoint> answer_by, TimePoint now);
  /// The same for who does not wait: when there is no room, it is sent later.
  void put_or_defer(Deferred one, TimePoint now);
  /// Sends what there is room for now, and gives up what is too late.
  void put_deferred(TimePoint now);
  /// When the next of those is too late.
  TimePoint next_deferred() const;
  std::size_t count_deferred() const;
  /// It is not wanted any more.
  void cancel(const std::shared_ptr<Promise>& promise);
  /// All promises that are not kept never will be.
  void break_promises(const Error& why);

  // Without the lock.
  void tell_kept();
  void then(const std::shared_ptr<Promise>& promise, const Promise::Call& call);

  const MemberOptions options;
  std::atomic<std::uint64_t> peers_version = 0;  // another one each time that somebody has come or gone

  std::mutex mutex;
  // With the lock held.
  std::optional<remote::GroupCore> group;                // from the moment on that it has an epoch
  std::optional<Error> failed;                           // why there is none, or none any more
  std::map<std::uint64_t, Awaited> answers;              // that are waited for, by their requests
  std::map<std::string, std::deque<Deferred>> deferred;  // by peers
  Kept kept;
  std::unique_ptr<Callbacks> callbacks;  // once somebody wants one
  std::uint64_t copied_bytes = 0;        // on this side, as counted last
  bool is_closing = false;
  bool has_left = false;
  bool is_ended = false;
  std::vector<std::uint64_t> undelivered;  // at the end
};

}  // namespace cadre::client
