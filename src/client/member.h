/// A member of a group, found by its name and finding the others by theirs: a group's core on an engine, a network and
/// the names. Safe on any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "client/engine.h"
#include "net/hub.h"
#include "remote/group.h"

namespace cadre::client {

/// What to do with a message for which there is no room.
enum class Overflow : std::uint8_t { block, fail, drop_oldest };

class Member {
 public:
  struct Options {
    std::string group;
    std::string type;
    std::string name;                          ///< empty: one is made up
    std::string names;                         ///< a URL, as for open_names
    std::string host = "127.0.0.1";            ///< where others reach it
    std::map<std::string, std::size_t> peers;  ///< how many of each type are expected
    bool uses_sockets_of_host = true;          ///< to speak with members on the same host, in place of the network
    Overflow overflow = Overflow::block;
    remote::Group::Options rules;  ///< of which group and self are filled in
  };
  using Wish = remote::Group::Wish;
  using Outcome = Result<remote::Note>;

  /// Both outlive it.
  Member(Engine& engine, Log& log, Options options);
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;
  /// As close() with no time to linger.
  ~Member();

  /// Says where it is, finds the expected peers and opens a line to each. When it returns, all of them can be reached;
  /// `timed_out` names those that cannot. After a failure it may be tried again.
  [[nodiscard]] Result<void> join(TimePoint deadline);

  /// Its id. Waits for room until the deadline if that is the rule.
  [[nodiscard]] Result<std::uint64_t> send(const std::string& peer, const Wish& wish, TimePoint deadline);
  [[nodiscard]] Outcome request(const std::string& peer, const Wish& wish, TimePoint deadline);
  /// One outcome for each, in their order.
  [[nodiscard]] std::vector<Outcome> scatter(const std::vector<std::pair<std::string, Wish>>& wishes,
                                             TimePoint deadline);
  /// The next that came; `timed_out` if there is none by then.
  [[nodiscard]] Result<remote::Letter> receive(TimePoint deadline);
  /// The same, unless something happens before: then `timed_out`, too.
  [[nodiscard]] Result<remote::Letter> receive(TimePoint deadline, const std::function<bool()>& unless);
  [[nodiscard]] Result<void> reply(const remote::Letter& to, remote::Note::Kind kind, const remote::Slice& body,
                                   TimePoint deadline);

  /// Waits so long for what was not delivered, says goodbye and ends. Gives the ids of what was not acknowledged.
  std::vector<std::uint64_t> close(Duration linger);

  /// Are called on whatever thread works at the moment; they may send, and wait for nothing. Set before join().
  std::function<void(const remote::PeerUp&)> on_peer_up;
  std::function<void(const remote::PeerDown&)> on_peer_down;

  const std::string& name() const { return options_.name; }
  std::vector<std::string> live(const std::string& type = "");
  std::vector<remote::Card> live_cards();
  /// Another number each time that somebody has come or gone.
  std::uint64_t peers_version() const { return peers_version_; }
  remote::Group::Counters counters();
  TimePoint now() { return engine_.loop().now(); }

 private:
  struct Inside;  // what belongs to the loop

  // On the loop.
  void start();
  loop::Task<void> begin();
  Result<void> bind();
  void watch();
  void hear(const net::Peer& peer, Bytes frame);
  void settle();
  bool perform_all();
  [[nodiscard]] Result<void> perform(remote::Effect& effect);
  [[nodiscard]] Result<void> open_line(const remote::Open& one);
  void tell(std::vector<remote::News> news);
  loop::Task<void> leave();
  void end();
  void fail_with(Error error);

  /// As a call that does nothing once this has ended.
  std::function<void()> guarded(void (Member::*what)());
  void settle_soon();
  /// Waits while the loop works for this.
  bool wait(TimePoint end, const std::function<bool()>& done);

  // With the lock held.
  std::optional<Error> obstacle() const;
  std::vector<std::string> missing() const;
  /// Nothing: there is no room.
  std::optional<Result<std::uint64_t>> try_put(const std::string& peer, const Wish& wish,
                                               std::optional<TimePoint> answer_by);

  Result<std::uint64_t> put(const std::string& peer, const Wish& wish, std::optional<TimePoint> answer_by,
                            TimePoint deadline);
  Outcome await_answer(std::uint64_t request, TimePoint deadline);

  Engine& engine_;
  Log& log_;
  Options options_;
  const std::string identity_;                                           // of the host, for those on the same
  const std::shared_ptr<bool> is_alive_ = std::make_shared<bool>(true);  // shared with calls that may come too late
  std::unique_ptr<Inside> inside_;                                       // the loop's

  std::mutex mutex_;
  std::optional<remote::Group> group_;                       // from the moment on that it has an epoch
  std::optional<Error> failed_;                              // why there is none, or none any more
  std::map<std::uint64_t, std::optional<Outcome>> answers_;  // that are waited for
  bool is_closing_ = false;
  bool has_left_ = false;
  bool is_ended_ = false;
  std::vector<std::uint64_t> undelivered_;  // at the end
  std::atomic<std::uint64_t> peers_version_ = 0;
  std::atomic<bool> settle_posted_ = false;
};

}  // namespace cadre::client
