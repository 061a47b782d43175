/// A member of a group, found by its name and finding the others by theirs: a group's core on an engine, a network and
/// the names. Safe on any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "client/components/membership.h"
#include "client/components/switchboard.h"
#include "client/engine.h"

namespace cadre::client {

class GroupMember {
 public:
  using Options = MemberOptions;
  using Wish = remote::GroupCore::Wish;
  using Outcome = Result<remote::Note>;

  /// Both outlive it.
  GroupMember(Engine& engine, Log& log, Options options);
  GroupMember(const GroupMember&) = delete;
  GroupMember& operator=(const GroupMember&) = delete;
  /// As close() with no time to linger.
  ~GroupMember();

  /// Says where it is, finds the expected peers and opens a line to each. When it returns, all of them can be reached;
  /// `timed_out` names those that cannot. After a failure it may be tried again.
  [[nodiscard]] Result<void> join(TimePoint deadline);

  /// Its id. Waits for room until the deadline if that is the rule.
  [[nodiscard]] Result<std::uint64_t> send(const std::string& peer, const Wish& wish, TimePoint deadline);
  [[nodiscard]] Outcome request(const std::string& peer, const Wish& wish, TimePoint deadline);
  /// One outcome for each, in their order.
  [[nodiscard]] std::vector<Outcome> scatter(const std::vector<std::pair<std::string, Wish>>& wishes,
                                             TimePoint deadline);

  /// Sends or asks without waiting, in the order of these calls: the promise is kept when the message has a place in
  /// the queue (its id), or when the answer is there; at the deadline at the latest.
  std::shared_ptr<Promise> promise(const std::string& peer, const Wish& wish, std::optional<TimePoint> answer_by,
                                   TimePoint deadline);
  /// Waits until it is kept; says whether it is.
  bool await(const std::shared_ptr<Promise>& promise, TimePoint deadline);
  void cancel(const std::shared_ptr<Promise>& promise);
  /// Calls it once it is kept: at once, or on a thread that runs such calls one after another.
  void then(const std::shared_ptr<Promise>& promise, const Promise::Call& call) { shared_.then(promise, call); }

  /// The next that came; `timed_out` if there is none by then.
  [[nodiscard]] Result<remote::Letter> receive(TimePoint deadline);
  /// The same, unless something happens before: then `timed_out`, too.
  [[nodiscard]] Result<remote::Letter> receive(TimePoint deadline, const std::function<bool()>& unless);
  /// An empty tag stands for that of the request.
  [[nodiscard]] Result<void> reply(const remote::Letter& to, remote::GroupCore::Response response, TimePoint deadline);

  /// Waits so long for what was not delivered, says goodbye and ends. Gives the ids of what was not acknowledged.
  std::vector<std::uint64_t> close(Duration linger);

  /// The calls are made on whatever thread works at the moment; they may send, and wait for nothing. Set before join().
  void on_peer_up(std::function<void(const remote::PeerUp&)> call) { switchboard_.on_peer_up = std::move(call); }
  void on_peer_down(std::function<void(const remote::PeerDown&)> call) { switchboard_.on_peer_down = std::move(call); }

  const std::string& name() const { return shared_.options.name; }
  std::vector<std::string> live(const std::string& type = "");
  std::vector<remote::Card> live_cards();
  /// Another number each time that somebody has come or gone.
  std::uint64_t peers_version() const { return shared_.peers_version; }
  remote::GroupCore::Counters counters();
  /// Of what was sent and what came over the present lines, how many bytes were copied here; not the kernel's.
  std::uint64_t copied_bytes();
  TimePoint now() { return engine_.loop().now(); }

 private:
  /// Waits while the loop works for this.
  bool wait(TimePoint end, const std::function<bool()>& done);

  // With the lock held.
  std::vector<std::string> missing() const;

  Result<std::uint64_t> put(const std::string& peer, const Wish& wish, std::optional<TimePoint> answer_by,
                            TimePoint deadline);
  Outcome await_answer(std::uint64_t request, TimePoint deadline);

  Engine& engine_;
  Membership shared_;
  Switchboard switchboard_;
};

}  // namespace cadre::client
