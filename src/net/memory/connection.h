/// Between a link and a hub in memory: messages under way, and what each side knows of the other. For the loop's
/// thread.
#pragma once

#include <deque>
#include <functional>
#include <memory>

#include "base/bytes.h"
#include "net/memory/wires.h"

namespace cadre::net {

class MemoryLink;

/// Messages of a connection on their way to one side.
class Lane {
 public:
  Lane(MemoryConnection& connection, std::function<void(Bytes)> deliver)
      : connection_(connection), deliver_(std::move(deliver)) {}

  void push(Bytes message);
  void wake();
  void clear() { under_way_.clear(), timer_.cancel(); }
  bool empty() const { return under_way_.empty(); }
  std::size_t size() const { return under_way_.size(); }
  std::deque<Bytes> take();

 private:
  struct UnderWay {
    TimePoint due;
    Bytes message;
  };
  void pump();

  MemoryConnection& connection_;
  std::function<void(Bytes)> deliver_;
  std::deque<UnderWay> under_way_;
  loop::Timer timer_;
};

/// Between a link and a hub. Each side may have given it up while the other does not know yet.
struct MemoryConnection : std::enable_shared_from_this<MemoryConnection> {
  MemoryConnection(MemoryWires& w, MemoryLink& l, MemoryHub& h, Peer p);

  void stall();
  void resume();
  void end_link_side();
  void end_hub_side();
  void drained();
  void forget_if_over();

  MemoryWires& wires;
  MemoryLink* link;  // null: that side is over
  MemoryHub* hub;
  const Peer peer;
  const HostPair hosts;
  Lane up;
  Lane down;
  loop::Timer link_patience;
  loop::Timer hub_patience;
};

}  // namespace cadre::net
