/// Where the processes of one task that belong to a gang meet: each shows its card, and gets the cards of all when all
/// are there. Over a unix socket in a folder of their user. For the loop's thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/gang/card.h"
#include "client/gang/socket_gang.h"
#include "net/network.h"

namespace cadre::client {

/// What the process that runs the meeting tells the others.
struct MeetingNews {
  static constexpr std::string_view doc = "News of the meeting of a gang.";
  std::vector<GangCard> roster;
  std::string missing;
  std::string refused;
};
template <class V>
void describe(V& v, MeetingNews& n) {
  v.field("roster", n.roster, "The cards of all ranks; empty until all are there.");
  v.field("missing", n.missing, "Which ranks have not come yet.");
  v.field("refused", n.refused, "Why the process does not belong to the gang.");
}

class Meeting {
 public:
  using Complete = std::function<void(const std::vector<GangCard>&)>;

  /// For the ranks from `first` on, `count` of them. Calls `on_complete` with their cards, once.
  [[nodiscard]] static Result<std::unique_ptr<Meeting>> open(net::Network& network, const std::string& socket,
                                                             std::uint32_t first, std::uint32_t count,
                                                             Complete on_complete);
  /// The cards of all ranks of the gang, of other meetings too.
  void answer(std::vector<GangCard> roster);
  /// Which ranks of other tasks have not come yet, for messages.
  void wait_for(std::string others);
  bool has_come(std::uint32_t rank) const { return come_.contains(rank); }

 private:
  struct Come {
    GangCard card;
    net::Peer peer;
  };

  Meeting(std::uint32_t first, std::uint32_t count, Complete on_complete)
      : first_(first), count_(count), on_complete_(std::move(on_complete)) {}
  void heard(const net::Peer& peer, BytesView frame);
  /// Why it does not belong here.
  std::optional<std::string> fault_of(const GangCard& card) const;
  MeetingNews news() const;
  void tell(const net::Peer& peer, const MeetingNews& news);
  void tell_all();

  const std::uint32_t first_;
  const std::uint32_t count_;
  const Complete on_complete_;
  std::unique_ptr<net::Hub> hub_;
  std::map<std::uint32_t, Come> come_;
  std::vector<GangCard> roster_;
  std::string others_;
};

/// Shows the card of a gang at the meeting with that socket, and waits for the cards of all. `timed_out` names who is
/// missing. On the thread that joins.
[[nodiscard]] Result<std::vector<GangCard>> meet(SocketGang& gang, const std::string& socket, Duration wait);

/// Prints the missing ranks to standard error, after a while and then from time to time. One thread at a time.
class WaitingNotice {
 public:
  explicit WaitingNotice(TimePoint now);
  void waits_for(const std::string& missing, TimePoint now);

 private:
  const TimePoint since_;
  TimePoint next_;
};

/// The error when they have not come within that time.
[[nodiscard]] Failure not_come(const std::string& missing, Duration wait);

}  // namespace cadre::client
