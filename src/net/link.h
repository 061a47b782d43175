/// The client's end of a connection to one hub: made again by itself whenever it is lost. For the thread of its loop.
///
/// Messages arrive at most once, and in order as long as one connection lives. Those under way when it is lost, or when
/// the hub refuses the link, may be lost, any of them. A sender that needs to know numbers its messages and repeats its
/// handshake.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "base/result.h"
#include "base/slice.h"
#include "net/counters.h"
#include "net/keys.h"
#include "net/limits.h"

namespace cadre::net {

struct LinkOptions {
  std::string address;  ///< the hub's: tcp://host:port or ipc:///absolute/path

  /// Needed over tcp://, and over ipc:// if the hub demands keys there.
  std::optional<Keys> keys{};
  PublicKey hub_key{};

  Limits limits{};

  /// Is called, never inside connect() or send(), each time a connection that was there is lost. It may destroy the
  /// link.
  std::function<void()> on_lost{};

  /// A send may hide that something came. It is looked for at once after each, or, which is cheaper, at the latest so
  /// long after one: for links over which the hub has little to say.
  Duration look_within{};

  /// As the hub demands it.
  UnixProof unix_proof = UnixProof::folder;
};

class Link {
 public:
  /// Gets what the hub sends; never inside connect() or send(). It may destroy the link, and keep the message.
  using Handler = std::function<void(Slice)>;

  Link() = default;
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  /// Takes no more messages in or out. What send() accepted is still sent for as long as Limits::linger.
  virtual ~Link() = default;

  /// Unavailable when Limits::queue_max messages wait already or the hub refuses the link, invalid when the message is
  /// over Limits::message_max. To accept a message is no promise that it arrives.
  [[nodiscard]] virtual Result<void> send(BytesView message) = 0;
  /// The same of a message that need not be copied.
  [[nodiscard]] virtual Result<void> send_whole(Bytes message) = 0;

  [[nodiscard]] virtual Counters counters() const = 0;
};

}  // namespace cadre::net
