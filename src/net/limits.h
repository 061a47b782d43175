/// The bounds of hubs and links: sizes, queues, waits. Values; safe on any thread.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/bytes.h"
#include "base/time.h"
#include "describe/describe.h"

namespace cadre::net {

struct Limits {
  static constexpr std::string_view doc = "Bounds of the connections between processes.";
  ByteSize message_max{std::int64_t{16} << 20};
  std::int32_t queue_max = 1'000;
  std::int32_t turn_max = 256;
  Duration handshake_max = std::chrono::seconds(5);
  Duration heartbeat = std::chrono::seconds(2);
  Duration silence_max = std::chrono::seconds(10);
  Duration reconnect_first = std::chrono::milliseconds(100);
  Duration reconnect_longest = std::chrono::seconds(5);
  Duration linger = std::chrono::milliseconds(500);
};

template <class V>
void describe(V& v, Limits& l) {
  using describe::range;
  using std::chrono::hours;
  using std::chrono::milliseconds;
  v.field("message_max", l.message_max, "Size of the largest message; a peer that sends a larger one is cut off.",
          range(ByteSize{1024}, ByteSize{std::int64_t{1} << 30}));
  v.field("queue_max", l.queue_max,
          "Maximum number of messages that wait to be sent to each peer, and on a hub also of messages from each peer "
          "that wait to be read, not counting what the sockets of the system hold.",
          range(1, 1'000'000));
  v.field("turn_max", l.turn_max, "Most messages handled before the loop turns to its other work.", range(1, 100'000));
  v.field("handshake_max", l.handshake_max, "Time limit for the handshake of a new connection.",
          range(milliseconds(10), hours(1)));
  v.field("heartbeat", l.heartbeat, "Heartbeat interval of each side.", range(milliseconds(10), hours(1)));
  v.field("silence_max", l.silence_max, "Time without a message after which a peer is closed.",
          range(milliseconds(20), hours(1)));
  v.field("reconnect_first", l.reconnect_first,
          "Wait before the first attempt to connect again; it doubles from there.", range(milliseconds(1), hours(1)));
  v.field("reconnect_longest", l.reconnect_longest, "Longest wait between two attempts to connect.",
          range(milliseconds(1), hours(1)));
  v.field("linger", l.linger, "How long messages that were accepted are still sent on after the end was closed.",
          range(milliseconds(0), hours(1)));
  v.check(l.heartbeat < l.silence_max, "heartbeat", "must be shorter than silence_max; lower it or raise silence_max");
  v.check(l.reconnect_first <= l.reconnect_longest, "reconnect_first",
          "must not exceed reconnect_longest; lower it or raise reconnect_longest");
}

/// What is wrong with limits that did not come from a file.
[[nodiscard]] Result<void> check_limits(const Limits& limits);

}  // namespace cadre::net
