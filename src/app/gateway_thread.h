/// The gateway on a thread of its own, before a master. For the main thread; what is told may come from any.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "cluster/bulk_endpoint.h"
#include "gateway/gateway.h"
#include "master/config.h"
#include "net/address.h"
#include "net/host_port.h"

namespace cadre::app {

class GatewayThread {
 public:
  explicit GatewayThread(Log& log);
  GatewayThread(const GatewayThread&) = delete;
  GatewayThread& operator=(const GatewayThread&) = delete;
  /// Closes it.
  ~GatewayThread();

  struct Options {
    master::Http http;
    int listener = -1;   ///< a socket that listens as `http` says; the caller's
    std::string socket;  ///< path of the one for the owner of the data folder
    std::string pass_secret;
    std::uint64_t names_begin = 1;
    std::uint64_t last_change = 0;
    std::vector<api::ChangeRow> changes;
    std::vector<gateway::PartInterface> parts;
    std::function<std::vector<Metric>()> metrics;
  };
  /// Listens, and forwards requests to these services, which must outlive it or its close().
  [[nodiscard]] Result<void> open(Options options, api::Service& service, cluster::BulkEndpoint& bulk);
  /// Lets nobody in any more and joins its thread. Idempotent.
  void close();

  std::uint16_t port() const;

  // Replies of the services; ignored before open() and after close().
  void tell(api::CallId call, api::Reply reply);
  void tell_bulk(api::CallId call, cluster::bulk::FromMaster message);
  void tell_changes(const std::vector<api::ChangeRow>& changes);

 private:
  struct Inside;
  std::unique_ptr<Inside> inside_;  // the loop and all that is for its thread only
};

/// Host and port of a setting such as `127.0.0.1:7310`.
[[nodiscard]] Result<net::TcpAddress> parse_http_listen(const std::string& text);

}  // namespace cadre::app
