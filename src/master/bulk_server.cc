#include "master/bulk_server.h"

#include <thread>
#include <utility>

#include "cluster/bulk.h"
#include "loop/calendar.h"
#include "loop/real_loop.h"
#include "master/bulk_service.h"
#include "net/zmq_network.h"

namespace cadre::master {

struct BulkServer::Inside {
  explicit Inside(Log& l) : log(l) {}
  ~Inside() { stop(); }

  void run() {
    thread = std::jthread([this] { loop.run(); });
  }

  /// The service ends on its own thread, where its sockets are in use.
  void stop() {
    if (!thread.joinable()) return;
    loop.post([this] {
      service.reset();
      loop.stop();
    });
    thread.join();
  }

  /// Does something with the service, soon, while there is one.
  template <class Act>
  void post(Act act) {
    loop.post([this, act = std::move(act)]() mutable {
      if (service) act(*service);
    });
  }

  Log& log;
  BulkMetrics metrics;
  LeaseHolders holders;
  loop::RealLoop loop;
  loop::Calendar calendar{loop};
  std::unique_ptr<logs::LogStore> logs;
  std::unique_ptr<objects::FileStore> blobs;
  std::unique_ptr<net::ZmqNetwork> network;
  std::unique_ptr<BulkService> service;
  std::vector<std::string> addresses;
  std::jthread thread;
};

Result<std::unique_ptr<BulkServer>> BulkServer::start(BulkOptions options, Log& log) {
  auto inside = std::make_unique<Inside>(log);
  const BulkLimits& limits = options.limits;
  TRY_ASSIGN(logs, logs::LogStore::open(options.output_folder, {}));
  inside->logs = std::move(logs);
  if (options.check_logs) TRY(options.check_logs(inside->logs->names()));
  TRY_ASSIGN(blobs, objects::FileStore::open({options.code_folder, limits.blobs_bytes_max, limits.blob_bytes_max}));
  inside->blobs = std::move(blobs);
  TRY_ASSIGN(network, net::ZmqNetwork::make(inside->loop, log));
  inside->network = std::move(network);
  const BulkService::Dependencies deps{inside->loop,     *inside->network, *inside->logs,   *inside->blobs,
                                       inside->calendar, inside->log,      inside->metrics, inside->holders};
  TRY_ASSIGN(service, BulkService::make(deps, std::move(options.hub), limits, std::move(options.tell)));
  inside->service = std::move(service);
  for (const auto& [key, agent] : options.agents) inside->service->allow(key, agent);
  for (const LeaseFact& fact : options.leases) inside->holders.learn(fact);
  inside->addresses = inside->service->hub().addresses();
  inside->run();
  return std::unique_ptr<BulkServer>(new BulkServer(std::move(inside)));
}

BulkServer::BulkServer(std::unique_ptr<Inside> inside) : inside_(std::move(inside)) {}
BulkServer::~BulkServer() = default;

void BulkServer::ask(api::CallId asker, cluster::bulk::ToMaster message) {
  inside_->post(
      [asker, message = std::move(message)](BulkService& service) mutable { service.ask(asker, std::move(message)); });
}

void BulkServer::forget(api::CallId asker) {
  inside_->post([asker](BulkService& service) { service.forget(asker); });
}

const std::vector<std::string>& BulkServer::addresses() const { return inside_->addresses; }

void BulkServer::allow(const net::PublicKey& key, const cluster::AgentId& agent) {
  inside_->post([key, agent](BulkService& service) { service.allow(key, agent); });
}

void BulkServer::revoke(const net::PublicKey& key) {
  inside_->post([key](BulkService& service) { service.revoke(key); });
}

void BulkServer::learn(const std::vector<LeaseFact>& facts) {
  // Not on its loop, which may be reading output that came later than this.
  for (const LeaseFact& fact : facts) inside_->holders.learn(fact);
}

void BulkServer::remove(cluster::LeaseId lease) {
  inside_->post([lease](BulkService& service) { service.remove(lease); });
}

void BulkServer::keep(const std::string& hash) {
  inside_->post([blobs = inside_->blobs.get(), hash](BulkService&) { blobs->keep(hash); });
}

void BulkServer::release(const std::string& hash) {
  inside_->post([blobs = inside_->blobs.get(), hash](BulkService&) { blobs->release(hash); });
}

const BulkMetrics& BulkServer::metrics() const { return inside_->metrics; }

void BulkServer::stop() { inside_->stop(); }

}  // namespace cadre::master
