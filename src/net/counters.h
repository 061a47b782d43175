/// What one end has seen so far, for status pages and tests. Values; safe on any thread.
#pragma once

#include <cstdint>
#include <string_view>

#include "describe/describe.h"

namespace cadre::net {

struct Counters {
  static constexpr std::string_view doc = "Counters of one end of the network since its start.";
  std::uint64_t received = 0;
  std::uint64_t received_bytes = 0;
  std::uint64_t sent = 0;
  std::uint64_t sent_bytes = 0;
  std::uint64_t copied_bytes = 0;

  std::uint64_t refused_full = 0;
  std::uint64_t refused_gone = 0;
  std::uint64_t refused_large = 0;
  std::uint64_t refused_key = 0;
  std::uint64_t refused_malformed = 0;

  std::uint64_t connections = 0;
  std::uint64_t authenticated = 0;
  std::uint64_t disconnected = 0;
  std::uint64_t handshakes_failed = 0;

  bool operator==(const Counters&) const = default;
};

template <class V>
void describe(V& v, Counters& c) {
  v.field("received", c.received, "Messages handed to the handler.");
  v.field("received_bytes", c.received_bytes, "Their bytes.");
  v.field("sent", c.sent, "Messages accepted to be sent.");
  v.field("sent_bytes", c.sent_bytes, "Their bytes.");
  v.field("copied_bytes", c.copied_bytes,
          "Bytes of sent and received messages copied in this process, without copies by the kernel.");
  v.field("refused_full", c.refused_full,
          "Messages not accepted because too many already wait, or no peer is connected.");
  v.field("refused_gone", c.refused_gone, "Messages not accepted because the peer is no longer there.");
  v.field("refused_large", c.refused_large, "Messages over message_max, sent or received.");
  v.field("refused_key", c.refused_key, "Connections, and messages of connections, whose key is not admitted.");
  v.field("refused_malformed", c.refused_malformed, "Malformed messages received.");
  v.field("connections", c.connections, "Connections made or accepted; they may have failed after that.");
  v.field("authenticated", c.authenticated, "Of these, those that authenticated and were admitted.");
  v.field("disconnected", c.disconnected, "Connections that ended, for any reason.");
  v.field("handshakes_failed", c.handshakes_failed,
          "Connections that ended because they said something wrong, or nothing, before they were admitted; some that "
          "talk another protocol from the beginning are only seen in connections and disconnected.");
}

}  // namespace cadre::net
