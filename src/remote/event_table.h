/// Which handlers run for which messages: every event has its own view of a message, and fires when its condition is
/// true. Pure; one thread at a time.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "remote/event.h"
#include "remote/event_queue.h"

namespace cadre::remote {

/// A live member of the group.
struct Peer {
  std::string name;
  std::string type;
};

struct Arrival {
  MessageHandle message;
  std::string_view source;
  std::string_view source_type;
  std::string_view tag;
};

/// A handler is to run, with these messages: those of the first term first, each term's in the order of their arrival.
struct Firing {
  std::size_t handler = 0;
  std::vector<MessageHandle> messages;
  bool operator==(const Firing&) const = default;
};

struct Pushed {
  std::size_t events = 0;  ///< that took the message: each of them hands it over once, now or later
  std::vector<Firing> firings;
};

/// Handlers are counted from 0 in the order in which they are added; firings come in that order. Within one event a
/// message is handed over once, even if several terms match it: the first that is satisfied with it takes it.
class EventTable {
 public:
  /// `waiting_most`: messages that wait for one event. Above that only such are let in as may be what its condition
  /// lacks, so that a full event can still come true.
  explicit EventTable(std::size_t waiting_most) : waiting_most_(waiting_most) {}

  /// Gives the handler's number. It sees the messages that come from now on.
  [[nodiscard]] Result<std::size_t> add(const Event& event);
  [[nodiscard]] Result<std::size_t> add(std::string_view event);

  /// A message has come. Errc::unavailable when some event that it matches has no room: then none has taken it.
  [[nodiscard]] Result<Pushed> push(const Arrival& arrival);

  /// These are alive from now on, and no others. What those that are gone have sent still counts.
  [[nodiscard]] std::vector<Firing> set_peers(std::span<const Peer> peers);

  [[nodiscard]] std::size_t waiting(std::size_t handler) const { return events_[handler].waiting(); }

 private:
  /// Terms of one event that match a message.
  struct Match {
    std::size_t event = 0;
    TermBits terms = 0;
  };
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  template <class T>
  using ByName = std::unordered_map<std::string, T, Hash, std::equal_to<>>;

  [[nodiscard]] std::vector<Match> matches(const Arrival& arrival) const;
  [[nodiscard]] std::size_t count_peers(const std::string& source) const;
  void fire(std::size_t event, std::vector<Firing>& firings);

  std::size_t waiting_most_;
  std::vector<EventQueue> events_;
  ByName<ByName<std::vector<Match>>> by_tag_;  ///< and then by source
  ByName<std::string> types_;                  ///< of live peers
  ByName<std::size_t> peers_of_type_;
};

}  // namespace cadre::remote
