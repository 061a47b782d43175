#include "master/join_server.h"

#include <thread>
#include <utility>

#include "loop/calendar.h"
#include "loop/real_loop.h"
#include "net/zmq_network.h"

namespace cadre::master {

struct JoinServer::Inside {
  ~Inside() { stop(); }
  void stop() {
    if (!thread.joinable()) return;
    loop.post([this] {
      service.reset();
      loop.stop();
    });
    thread.join();
  }

  MetricSet metrics;
  Counter refused{metrics, "join_refused_total", "Number of refused attempts to join."};
  loop::RealLoop loop;
  loop::Calendar calendar{loop};
  std::unique_ptr<net::ZmqNetwork> network;
  std::unique_ptr<JoinService> service;
  std::vector<std::string> addresses;
  std::jthread thread;
};

Result<std::unique_ptr<JoinServer>> JoinServer::start(JoinOptions options, Log& log) {
  auto inside = std::make_unique<Inside>();
  options.admit = [admit = std::move(options.admit), loop = &inside->loop](
                      JoinOptions::Wanted wanted, std::function<void(Result<std::string>)> done) {
    admit(std::move(wanted), [loop, done = std::move(done)](Result<std::string> pool) {
      loop->post([done, pool = std::move(pool)]() mutable { done(std::move(pool)); });
    });
  };
  TRY_ASSIGN(network, net::ZmqNetwork::make(inside->loop, log));
  inside->network = std::move(network);
  const JoinService::Dependencies deps{inside->loop, *inside->network, inside->calendar, log, inside->refused};
  TRY_ASSIGN(service, JoinService::open(deps, std::move(options)));
  inside->service = std::move(service);
  inside->addresses = inside->service->addresses();
  inside->thread = std::jthread([inside = inside.get()] { inside->loop.run(); });
  return std::unique_ptr<JoinServer>(new JoinServer(std::move(inside)));
}

JoinServer::JoinServer(std::unique_ptr<Inside> inside) : inside_(std::move(inside)) {}
JoinServer::~JoinServer() = default;

const std::vector<std::string>& JoinServer::addresses() const { return inside_->addresses; }

void JoinServer::add(records::JoinToken token) {
  inside_->loop.post([inside = inside_.get(), token = std::move(token)]() mutable {
    if (inside->service) inside->service->add(std::move(token));
  });
}

std::vector<Metric> JoinServer::metrics() const { return inside_->metrics.read(); }

void JoinServer::stop() { inside_->stop(); }

}  // namespace cadre::master
