/// The server's end: binds addresses and speaks with many links, each a Peer. For the thread of its loop.
///
/// Messages to and from one peer arrive at most once and in order. A link that connects again is a new peer; that the
/// old one is gone is noticed after a while at the latest (Limits::silence_max) and then shows in send().
#pragma once

#include <compare>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/id.h"
#include "base/result.h"
#include "base/slice.h"
#include "net/admission.h"
#include "net/counters.h"
#include "net/keys.h"
#include "net/limits.h"

namespace cadre::net {

using ConnectionId = Id<struct ConnectionTag>;

/// One connection of one link. The hub chooses the id and the handshake has proved the key: neither can be claimed.
struct Peer {
  ConnectionId connection;
  PublicKey key;             ///< empty on unix sockets without UnixProof::keys, where the folder says who may come
  std::string address = {};  ///< from where it connected, if HubOptions::note_addresses; empty on unix sockets
  auto operator<=>(const Peer&) const = default;
};

struct HubOptions {
  /// tcp://host:port, where port 0 is any free one and host * is every address of this host; ipc:///absolute/path in a
  /// folder that only its owner may use.
  std::vector<std::string> addresses;

  /// Needed for tcp://, and for unix sockets that demand keys: the hub's own keys, and whom it lets in.
  std::optional<Keys> keys{};
  Admission admission = Admission::only({});

  Limits limits{};

  /// With `keys`, a unix socket also refuses processes of other users than this one and root.
  UnixProof unix_proof = UnixProof::folder;
  /// Whether peers carry the address from which they connected.
  bool note_addresses = false;
};

class Hub {
 public:
  /// Gets what peers send; never inside bind() or send(). It may destroy the hub, and keep the message.
  using Handler = std::function<void(const Peer&, Slice)>;

  Hub() = default;
  Hub(const Hub&) = delete;
  Hub& operator=(const Hub&) = delete;

  /// Takes no more messages in or out, and its addresses are free again. What send() accepted is still sent for as
  /// long as Limits::linger.
  virtual ~Hub() = default;

  /// Unavailable when the peer is gone or Limits::queue_max messages wait for it already, denied when its key is
  /// revoked, invalid when the message is over Limits::message_max. Never waits for a peer.
  [[nodiscard]] virtual Result<void> send(const Peer& peer, BytesView message) = 0;

  /// From now on this key is let in, or is not. Of a revoked key that is connected, no message is handed on any more,
  /// not even one that is here already, and none is sent to it.
  virtual void allow(const PublicKey& key) = 0;
  virtual void revoke(const PublicKey& key) = 0;

  /// Where it listens, in the order of its options; the ports are those that were found.
  [[nodiscard]] virtual const std::vector<std::string>& addresses() const = 0;

  [[nodiscard]] virtual Counters counters() const = 0;
};

}  // namespace cadre::net
