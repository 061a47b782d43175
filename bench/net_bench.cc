#include <functional>
#include <memory>
#include <thread>

#include "bench/bench.h"
#include "net/zmq_network.h"

namespace cadre::bench {
namespace {

using std::chrono::seconds;

/// A hub on a loop and a thread of its own, as in another process. Answers each message, or counts until an empty one.
class Server {
 public:
  enum class Mode { answers, counts };

  explicit Server(Mode mode) : mode_(mode), network_(net::ZmqNetwork::make(loop_, log_).value()) {
    net::HubOptions options{.addresses = {"tcp://127.0.0.1:0"}, .keys = keys_, .admission = net::Admission::anyone()};
    hub_ = network_->bind(options, [this](const net::Peer& peer, BytesView message) { take(peer, message); }).value();
    thread_ = std::thread([this] { loop_.run(); });
  }
  ~Server() {
    loop_.stop();
    thread_.join();
  }

  net::LinkOptions link() const {
    return {.address = hub_->addresses().front(), .keys = net::make_keys(), .hub_key = keys_.open};
  }
  /// After the empty message.
  double rate() {
    thread_.join();
    thread_ = std::thread([] {});
    return static_cast<double>(count_ - 1) / std::chrono::duration<double>(last_ - first_).count();
  }

 private:
  void take(const net::Peer& peer, BytesView message) {
    if (mode_ == Mode::answers) return static_cast<void>(hub_->send(peer, message));
    last_ = loop_.now();
    if (message.empty()) return loop_.stop();
    if (count_++ == 0) first_ = last_;
  }

  const Mode mode_;
  const net::Keys keys_ = net::make_keys();
  SilentLog log_;
  loop::RealLoop loop_;
  std::unique_ptr<net::ZmqNetwork> network_;
  std::unique_ptr<net::Hub> hub_;
  std::uint64_t count_ = 0;
  TimePoint first_, last_;
  std::thread thread_;
};

/// How often a second a message of this size is answered, one after another.
double requests_per_second(std::size_t size) {
  Server server(Server::Mode::answers);
  SilentLog log;
  loop::RealLoop loop;
  const auto network = net::ZmqNetwork::make(loop, log).value();
  const Bytes message(size);
  std::unique_ptr<net::Link> link;
  std::uint64_t count = 0;
  TimePoint begin;
  const auto take = [&](BytesView) {
    if (count++ == 0) begin = loop.now();
    if (loop.now() - begin > seconds(1)) return loop.stop();
    static_cast<void>(link->send(message));
  };
  link = network->connect(server.link(), take).value();
  static_cast<void>(link->send(message));
  loop.run();
  return static_cast<double>(count - 1) / std::chrono::duration<double>(loop.now() - begin).count();
}

/// How many messages of this size arrive in a second when they are sent without waiting.
double one_way(std::size_t size) {
  Server server(Server::Mode::counts);
  SilentLog log;
  loop::RealLoop loop;
  const auto network = net::ZmqNetwork::make(loop, log).value();
  const Bytes message(size);
  const auto link = network->connect(server.link(), [](BytesView) {}).value();
  const TimePoint begin = loop.now();
  loop::Timer later;
  std::function<void()> send = [&] {
    while (loop.now() - begin < seconds(1)) {
      if (!link->send(message)) return void(later = loop.after(std::chrono::microseconds(50), send));
    }
    if (!link->send({})) return void(later = loop.after(std::chrono::microseconds(50), send));
    loop.stop();
  };
  loop.post(send);
  loop.run();
  return server.rate();
}

}  // namespace

Result<Figures> bench_net() {
  Figures figures{"net", {}};
  for (const std::size_t size : {100, 64 * 1024}) {
    const std::string text = size == 100 ? "100 B" : "64 KiB";
    TRY_ASSIGN(asked, row_beside_raw("CURVE, requests of " + text + ", one by one", requests_per_second(size), "1/s",
                                     "zmq_curve request " + std::to_string(size)));
    figures.rows.push_back(std::move(asked));
    TRY_ASSIGN(sent, row_beside_raw("CURVE, messages of " + text + ", one way", one_way(size), "1/s",
                                    "zmq_curve oneway " + std::to_string(size)));
    figures.rows.push_back(std::move(sent));
  }
  return figures;
}

}  // namespace cadre::bench
