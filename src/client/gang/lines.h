/// The connections between the processes of a gang, encrypted between hosts, over unix sockets where two processes
/// share files. For the loop's thread.
///
/// Messages between two processes arrive once and in order, or the connection counts as lost: there is no other way to
/// lose one. Only processes with a card in the roster are let in. How much is under way to a process is bounded.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/slice.h"
#include "client/gang/card.h"
#include "client/host_identity.h"
#include "loop/real_loop.h"
#include "net/zmq_network.h"

namespace cadre::client {

class GangLines {
 public:
  struct Handlers {
    std::function<void(std::uint32_t from, Slice message)> on_message;
    /// Nothing comes from that process any more. Once for each.
    std::function<void(std::uint32_t rank, std::string_view why)> on_lost;
    /// A connection was opened, or messages that waited were sent.
    std::function<void()> on_progress;
  };
  /// Bytes of the largest message.
  static constexpr std::size_t message_bytes_max = std::size_t{2} << 20;

  GangLines(loop::RealLoop& loop, Log& log) : loop_(loop), log_(log) {}
  GangLines(const GangLines&) = delete;
  GangLines& operator=(const GangLines&) = delete;
  /// What tell_all() was given is still sent, for half a second at most.
  ~GangLines();

  /// Listens, and writes into the card where.
  [[nodiscard]] Result<void> listen(GangCard& self);
  /// Lets in the processes with these cards, in the order of their ranks, and connects to rank 0; rank 0 connects to
  /// all. Other connections are opened when something is sent.
  void open(std::vector<GangCard> roster, std::uint32_t self, Handlers handlers);

  /// Sends a message of two parts; the second is not copied before it is sent.
  void send(std::uint32_t to, Bytes head, BytesView body);
  /// How many messages wait to be sent; their bodies are still needed.
  [[nodiscard]] std::size_t waiting() const { return waiting_; }
  void drop_waiting();
  /// To all with whom there is a connection, before what waits, and to the others once there is one. For the few things
  /// that all must know.
  void tell_all(BytesView message);

  [[nodiscard]] bool is_open(std::uint32_t rank) const;
  /// The host part of the address at which that process was reached.
  [[nodiscard]] std::string reached_at(std::uint32_t rank) const;
  net::ZmqNetwork& network() { return *network_; }
  /// In which other sockets of this process may stand.
  const std::string& folder() const { return folder_->path(); }

 private:
  struct Line {
    std::unique_ptr<net::Link> link;
    std::size_t attempt = 0;
    bool is_open = false;
    std::deque<std::pair<Bytes, BytesView>> queue;
    std::uint64_t sent = 0;
    std::uint64_t acknowledged = 0;
    TimePoint since{};
    loop::Timer retry;
    loop::Timer loss;
  };
  struct Caller {
    std::uint32_t rank = 0;
    net::Peer peer;
    std::uint64_t received = 0;
    std::uint64_t acknowledged = 0;
  };

  std::vector<std::string> candidates(std::uint32_t rank) const;
  Line& line_to(std::uint32_t rank);
  void connect(std::uint32_t rank);
  void try_next(std::uint32_t rank);
  void heard(const net::Peer& peer, Slice frame);
  void greeted(const net::Peer& peer, BytesView greeting);
  void heard_back(std::uint32_t rank, Slice frame);
  void acknowledge(Caller& caller);
  void flush(std::uint32_t rank);
  void lost(std::uint32_t rank, std::string_view why);

  loop::RealLoop& loop_;
  Log& log_;
  std::unique_ptr<PrivateFolder> folder_;
  std::unique_ptr<net::ZmqNetwork> network_;
  net::Keys keys_ = net::make_keys();
  std::string word_;
  std::unique_ptr<net::Hub> hub_;
  std::vector<GangCard> roster_;
  std::uint32_t self_ = 0;
  Handlers handlers_;
  std::map<std::uint32_t, Line> lines_;             ///< by rank
  std::map<net::ConnectionId, Caller> callers_;     ///< that have greeted
  std::vector<std::pair<net::Peer, Slice>> early_;  ///< greetings from before the roster was known
  std::vector<bool> is_lost_;
  std::vector<Bytes> told_;  ///< to all
  std::size_t waiting_ = 0;
};

}  // namespace cadre::client
