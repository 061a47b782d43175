#include "tests/sim/process_network.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <utility>

namespace cadre::sim {
namespace {

constexpr std::size_t remembered_max = 8;
constexpr Duration echo_max = std::chrono::seconds(3);

/// What one connection has brought and the process has not read yet, in its order.
class Queue {
 public:
  Queue(loop::Loop& loop, const Weather& weather, Traffic& traffic, Dice dice)
      : loop_(loop), weather_(weather), traffic_(traffic), dice_(dice) {}

  void push(std::function<void()> deliver, Duration wait = {}) {
    const Duration late(dice_.between(0, weather_.late_max.count()));
    const TimePoint due = loop_.now() + late + wait;
    waiting_.push_back({waiting_.empty() ? due : std::max(due, waiting_.back().due), std::move(deliver)});
    ++traffic_.messages;
    traffic_.longest_queue = std::max(traffic_.longest_queue, waiting_.size());
    if (waiting_.size() == 1) arm();
  }

 private:
  struct Message {
    TimePoint due;
    std::function<void()> deliver;
  };
  void arm() {
    timer_ = loop_.at(waiting_.front().due, [this] { pump(); });
  }
  void pump() {
    const std::function<void()> deliver = std::move(waiting_.front().deliver);
    waiting_.pop_front();
    if (!waiting_.empty()) arm();
    deliver();  // it may destroy this
  }

  loop::Loop& loop_;
  const Weather& weather_;
  Traffic& traffic_;
  Dice dice_;
  std::deque<Message> waiting_;
  loop::Timer timer_;
};

class ProcessHub final : public net::Hub {
 public:
  ProcessHub(loop::Loop& loop, const Weather& weather, Traffic& traffic, Dice dice, Handler handler)
      : loop_(loop), weather_(weather), traffic_(traffic), dice_(dice), handler_(std::move(handler)) {}
  void open(std::unique_ptr<net::Hub> inner) { inner_ = std::move(inner); }

  Result<void> send(const net::Peer& peer, BytesView message) override { return inner_->send(peer, message); }
  void allow(const net::PublicKey& key) override { inner_->allow(key); }
  void revoke(const net::PublicKey& key) override { inner_->revoke(key); }
  const std::vector<std::string>& addresses() const override { return inner_->addresses(); }
  net::Counters counters() const override { return inner_->counters(); }

  void receive(const net::Peer& peer, BytesView message) {
    if (!queues_.contains(peer.connection) && dice_.percent(weather_.echo_percent)) echo(peer.key);
    std::deque<Old>& old = old_[peer.key];
    old.push_back({peer, Bytes(message.begin(), message.end())});
    if (old.size() > remembered_max) old.pop_front();
    put(peer, old.back().message, {});
  }

 private:
  struct Old {
    net::Peer peer;
    Bytes message;
  };
  void put(const net::Peer& peer, Bytes message, Duration wait) {
    Queue& queue = queues_.try_emplace(peer.connection, loop_, weather_, traffic_, dice_.split()).first->second;
    queue.push([handler = handler_, peer,
                message = std::move(message)]() mutable { handler(peer, Slice(std::move(message))); },
               wait);
  }
  void echo(const net::PublicKey& key) {
    for (const Old& one : std::deque<Old>(old_[key]))
      put(one.peer, one.message, Duration(dice_.between(0, echo_max.count())));
  }

  loop::Loop& loop_;
  const Weather& weather_;
  Traffic& traffic_;
  Dice dice_;
  Handler handler_;
  std::map<net::ConnectionId, Queue> queues_;
  std::map<net::PublicKey, std::deque<Old>> old_;
  std::unique_ptr<net::Hub> inner_;
};

class ProcessLink final : public net::Link {
 public:
  ProcessLink(loop::Loop& loop, const Weather& weather, Traffic& traffic, Dice dice, Handler handler)
      : queue_(loop, weather, traffic, dice), handler_(std::move(handler)) {}
  void open(std::unique_ptr<net::Link> inner) { inner_ = std::move(inner); }

  Result<void> send(BytesView message) override { return inner_->send(message); }
  Result<void> send_whole(Bytes message) override { return inner_->send_whole(std::move(message)); }
  net::Counters counters() const override { return inner_->counters(); }

  void receive(BytesView message) {
    queue_.push([handler = handler_, bytes = Bytes(message.begin(), message.end())]() mutable {
      handler(Slice(std::move(bytes)));
    });
  }

 private:
  Queue queue_;
  Handler handler_;
  std::unique_ptr<net::Link> inner_;
};

}  // namespace

Result<std::unique_ptr<net::Hub>> ProcessNetwork::bind(net::HubOptions options, net::Hub::Handler handler) {
  auto hub = std::make_unique<ProcessHub>(loop_, weather_, traffic_, dice_.split(), std::move(handler));
  TRY_ASSIGN(inner, inner_.bind(std::move(options), [to = hub.get()](const net::Peer& peer, BytesView message) {
    to->receive(peer, message);
  }));
  hub->open(std::move(inner));
  return hub;
}

Result<std::unique_ptr<net::Link>> ProcessNetwork::connect(net::LinkOptions options, net::Link::Handler handler) {
  auto link = std::make_unique<ProcessLink>(loop_, weather_, traffic_, dice_.split(), std::move(handler));
  TRY_ASSIGN(inner, inner_.connect(std::move(options), [to = link.get()](BytesView message) { to->receive(message); }));
  link->open(std::move(inner));
  return link;
}

}  // namespace cadre::sim
