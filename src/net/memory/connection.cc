#include "net/memory/connection.h"

#include <algorithm>
#include <utility>

#include "net/memory/hub.h"
#include "net/memory/link.h"

namespace cadre::net {

void Lane::push(Bytes message) {
  const TimePoint soonest = connection_.wires.loop.now() + connection_.wires.draw_delay();
  under_way_.push_back({under_way_.empty() ? soonest : std::max(soonest, under_way_.back().due), std::move(message)});
  if (under_way_.size() == 1) wake();
}

void Lane::wake() {
  MemoryWires& wires = connection_.wires;
  const TimePoint due = under_way_.empty() ? wires.loop.now() + wires.draw_delay() : under_way_.front().due;
  timer_ = wires.loop.at(due, [this] { pump(); });
}

/// Delivers what is due, unless the hosts are cut off.
void Lane::pump() {
  const auto alive = connection_.shared_from_this();  // the handler may end both sides
  if (connection_.wires.is_cut(connection_.hosts)) return;
  if (!under_way_.empty() && under_way_.front().due <= connection_.wires.loop.now()) {
    Bytes message = std::move(under_way_.front().message);
    under_way_.pop_front();
    deliver_(std::move(message));
  }
  under_way_.empty() ? connection_.drained() : wake();
}

std::deque<Bytes> Lane::take() {
  std::deque<Bytes> messages;
  for (UnderWay& one : under_way_) messages.push_back(std::move(one.message));
  clear();
  return messages;
}

MemoryConnection::MemoryConnection(MemoryWires& w, MemoryLink& l, MemoryHub& h, Peer p)
    : wires(w),
      link(&l),
      hub(&h),
      peer(std::move(p)),
      hosts(pair_of(l.host(), h.host())),
      up(*this,
         [this](Bytes message) {
           if (hub != nullptr) hub->receive(peer, std::move(message));
         }),
      down(*this, [this](Bytes message) {
        if (link != nullptr) link->receive(std::move(message));
      }) {}

/// Nothing passes; each side gives up in its own time.
void MemoryConnection::stall() {
  const auto patience = [this](const Limits& limits) {
    return limits.silence_max + Duration(wires.dice.between(0, limits.heartbeat.count()));
  };
  if (link != nullptr) link_patience = wires.loop.after(patience(link->limits()), [this] { end_link_side(); });
  if (hub != nullptr) hub_patience = wires.loop.after(patience(hub->limits()), [this] { end_hub_side(); });
}

/// What waited comes now; a side that is alone learns of it.
void MemoryConnection::resume() {
  link_patience.cancel();
  hub_patience.cancel();
  if (hub == nullptr) link_patience = wires.loop.after(wires.draw_delay(), [this] { end_link_side(); });
  if (link == nullptr) hub_patience = wires.loop.after(wires.draw_delay(), [this] { end_hub_side(); });
  up.wake();
  down.wake();
}

void MemoryConnection::end_link_side() {
  const auto alive = shared_from_this();
  if (link != nullptr) std::exchange(link, nullptr)->disconnected();
  up.clear();
  down.clear();
  forget_if_over();
}

void MemoryConnection::end_hub_side() {
  const auto alive = shared_from_this();
  if (hub != nullptr) std::exchange(hub, nullptr)->disconnected(*this);
  down.clear();
  forget_if_over();
}

/// A side that closed is seen to be gone once its last message has arrived.
void MemoryConnection::drained() {
  const auto alive = shared_from_this();
  if (link == nullptr && up.empty()) end_hub_side();
  if (hub == nullptr && down.empty()) end_link_side();
}

void MemoryConnection::forget_if_over() {
  if (link == nullptr && hub == nullptr) wires.connections.erase(peer.connection);
}

}  // namespace cadre::net
