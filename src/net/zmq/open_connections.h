/// The connections that a hub has accepted, by descriptor, and the order in which they came, so that a flood of
/// connections closes the oldest of itself and not the port. For the loop's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <unordered_map>

#include "net/keys.h"

namespace cadre::net {

class OpenConnections {
 public:
  /// A local TCP port of the hub.
  void add_port(std::uint16_t port) { ports_.insert(port); }

  void accepted(int fd);
  void closed(int fd);
  /// The admitted peer with this key has sent a message over it: it is not closed in favour of newer ones, but of those
  /// with the same key. So no peer can take the place of all others.
  void authenticated(int fd, const PublicKey& key);
  /// A peer of a hub that admits anyone has sent a message over it: it is the newest now.
  void heard(int fd);

  [[nodiscard]] std::size_t size() const { return open_.size(); }

  /// Shuts down the oldest connections that have not authenticated, until fewer than `most` are open or none is left;
  /// ZeroMQ then closes them. Those that are shut down count as closed.
  void make_room(std::size_t most);

  /// A peer has one, and a second one for a moment when it connects again.
  static constexpr std::size_t most_of_key = 8;

 private:
  struct Open {
    std::uint64_t number = 0;
    PublicKey key;  ///< of the peer that has authenticated
  };
  /// False: it could not be done at the moment. `fd` may have been closed and used again since: what is no connection
  /// to one of the ports is left alone.
  bool shut_down(int fd) const;

  std::set<std::uint16_t> ports_;
  std::unordered_map<int, Open> open_;
  std::map<std::uint64_t, int> unauthenticated_;  ///< by number
  std::map<PublicKey, std::map<std::uint64_t, int>> of_key_;
  std::uint64_t last_number_ = 0;
};

}  // namespace cadre::net
