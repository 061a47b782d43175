/// A network switch in user space, on a thread of its own, whose every fault is made on demand. Its calls are safe on
/// any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <queue>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "base/dice.h"
#include "loop/descriptor.h"

namespace cadre::servers {

/// Ports have numbers from 1 on. A frame goes to the port that its hardware address ends with, a broadcast to all;
/// only ARP and IPv4 pass. Faults act on whole frames, of which the kernel makes large ones (64 KB of a TCP stream):
/// one that is lost may be a lot. On two shared cores it carries a stream of 0.5 to 1.4 GB/s, and a byte there and back
/// takes 40 to 230 µs.
class Switch {
 public:
  Switch();
  Switch(const Switch&) = delete;
  Switch& operator=(const Switch&) = delete;
  ~Switch();

  /// Takes a socket of open_frames.
  void plug(int port, loop::Descriptor frames);
  void unplug(int port);

  /// Nothing from this port or to it passes any more, in silence: the host sees no link that is down.
  void cut(int port);
  void heal(int port);
  /// The same one way, for one pair.
  void drop(int from, int to);
  void undrop(int from, int to);
  /// Each frame from this port or to it is lost with this probability, thrown with dice of this seed; 0 ends it.
  void loss(int port, double probability, std::uint64_t seed = 1);
  /// Each frame from this port or to it comes so much later; 0 ends it.
  void delay(int port, std::chrono::microseconds time);

  struct Counts {
    std::uint64_t forwarded = 0;
    std::uint64_t dropped = 0;  ///< by a fault, or because too much is on its way after the switch
  };
  Counts counts() const;

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t late_bytes_max = 64 << 20;

  struct Port {
    loop::Descriptor frames;
    bool is_cut = false;
    double loss = 0;
    Dice dice{1};
    std::chrono::microseconds delay{0};
  };
  struct Late {
    Clock::time_point due;
    std::uint64_t number;  ///< keeps the order of those that are due together
    int to;
    std::string frame;
    bool operator<(const Late& other) const { return std::tie(other.due, other.number) < std::tie(due, number); }
  };

  void run();
  /// Until some ports have frames: these.
  std::vector<int> wait();
  void take_frames(int port);
  void route(int from, std::string_view frame);
  void pass(int from, int to, std::string_view frame);
  void send(int to, std::string_view frame);
  void send_what_is_due();
  static bool is_lost(Port& port);

  loop::Descriptor wake_;
  mutable std::mutex mutex_;
  std::map<int, Port> ports_;
  std::set<std::pair<int, int>> dropped_pairs_;
  std::priority_queue<Late> late_;
  std::size_t late_bytes_ = 0;
  std::uint64_t late_number_ = 0;
  Counts counts_;
  bool stopping_ = false;
  std::string buffer_;
  std::thread thread_;
};

}  // namespace cadre::servers
