#include "app/gateway_thread.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "app/descriptor_limit.h"
#include "loop/real_loop.h"
#include "loop/thread_pool.h"

namespace cadre::app {
namespace {

/// Passwords are made and checked two at a time: each takes 32 MiB.
const loop::PoolOptions pool_options{"passwords, files and large bodies", 2, 64};

}  // namespace

struct GatewayThread::Inside {
  explicit Inside(Log& l) : log(l), pool(loop, pool_options) {}

  Log& log;
  loop::RealLoop loop;
  loop::ThreadPool pool;
  std::unique_ptr<gateway::Gateway> gateway;  // for its thread only, once that runs
  std::uint16_t port = 0;
  std::jthread thread;
};

GatewayThread::GatewayThread(Log& log) : inside_(std::make_unique<Inside>(log)) {}

GatewayThread::~GatewayThread() { close(); }

Result<void> GatewayThread::open(Options options, api::Service& service, cluster::BulkEndpoint& bulk) {
  TRY_ASSIGN(where, parse_http_listen(options.http.listen));
  gateway::Options settings;
  settings.server.host = where.host;
  settings.server.port = where.port;
  settings.server.listener = options.listener;
  settings.server.path = options.socket;
  net::http::Limits& limits = settings.server.limits;
  // The other half is for agents, the database, logs and code: without a descriptor libraries below us abort.
  const std::int64_t half = std::max<std::int64_t>(descriptor_limit() / 2, 1);
  limits.connections_max = static_cast<std::int32_t>(std::min<std::int64_t>(options.http.connections_max, half));
  limits.connections_max_each = std::min(limits.connections_max_each, std::max(limits.connections_max * 3 / 4, 1));
  limits.silent_max_each = std::min(limits.silent_max_each, std::max(limits.connections_max / 4, 1));
  if (!options.http.tls_certificates.empty()) {
    settings.server.tls = net::http::Tls{options.http.tls_certificates, options.http.tls_key};
  }
  settings.version = version();
  settings.web = options.http.web;
  settings.open_metrics = options.http.open_metrics;
  settings.pass_secret = std::move(options.pass_secret);
  settings.names_begin = options.names_begin;
  settings.last_change = options.last_change;
  settings.changes = std::move(options.changes);
  settings.parts = std::move(options.parts);
  settings.metrics = std::move(options.metrics);
  auto gateway =
      gateway::Gateway::open({inside_->loop, inside_->log, service, bulk, inside_->pool}, std::move(settings));
  if (!gateway) return Failure(gateway.error());
  inside_->port = (*gateway)->port();
  inside_->gateway = *std::move(gateway);
  inside_->thread = std::jthread([inside = inside_.get()] { inside->loop.run(); });
  return {};
}

void GatewayThread::close() {
  if (!inside_->thread.joinable()) return;
  inside_->loop.post([inside = inside_.get()] {
    inside->gateway.reset();
    inside->loop.stop();
  });
  inside_->thread.join();
}

std::uint16_t GatewayThread::port() const { return inside_->port; }

void GatewayThread::tell(api::CallId call, api::Reply reply) {
  inside_->loop.post([inside = inside_.get(), call, reply = std::move(reply)]() mutable {
    if (inside->gateway) inside->gateway->tell(call, std::move(reply));
  });
}

void GatewayThread::tell_bulk(api::CallId call, cluster::bulk::FromMaster message) {
  inside_->loop.post([inside = inside_.get(), call, message = std::move(message)]() mutable {
    if (inside->gateway) inside->gateway->tell_bulk(call, std::move(message));
  });
}

void GatewayThread::tell_changes(const std::vector<api::ChangeRow>& changes) {
  inside_->loop.post([inside = inside_.get(), changes] {
    if (inside->gateway) inside->gateway->tell_changes(changes);
  });
}

Result<net::TcpAddress> parse_http_listen(const std::string& text) {
  const Result<net::HostPort> parsed = net::parse_host_port(text);
  if (parsed && parsed->port) return net::TcpAddress{parsed->host, *parsed->port};
  return fail(Errc::invalid, "http.listen: '" + text + "' is not host:port" +
                                 (parsed ? "" : ": " + parsed.error().message) +
                                 "; use a value such as 127.0.0.1:7310");
}

}  // namespace cadre::app
