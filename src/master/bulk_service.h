/// Serves output and packed code by the rules of cluster/bulk.h, on any network and loop. Agents put output and get
/// code; for callers in this process, output is read and code is put. For the thread of its loop.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/log.h"
#include "cluster/bulk.h"
#include "cluster/bulk_endpoint.h"
#include "logs/store.h"
#include "loop/calendar.h"
#include "loop/loop.h"
#include "master/bulk_limits.h"
#include "master/bulk_metrics.h"
#include "master/bulk_output.h"
#include "master/lease_holders.h"
#include "net/network.h"
#include "net/zmq/refusal_log.h"
#include "objects/file_store.h"

namespace cadre::master {

class BulkService {
 public:
  /// What it stands on; all of it must outlive it.
  struct Dependencies {
    loop::Loop& loop;
    net::Network& network;
    logs::LogStore& logs;
    objects::FileStore& blobs;
    const loop::Calendar& calendar;
    Log& log;
    BulkMetrics& metrics;
    LeaseHolders& holders;
  };

  using Tell = std::function<void(api::CallId, cluster::bulk::FromMaster)>;
  [[nodiscard]] static Result<std::unique_ptr<BulkService>> make(const Dependencies& deps, net::HubOptions options,
                                                                 const BulkLimits& limits, Tell tell);
  BulkService(const BulkService&) = delete;
  BulkService& operator=(const BulkService&) = delete;
  /// Acknowledges what can be.
  ~BulkService();

  void ask(api::CallId asker, cluster::bulk::ToMaster message);
  void forget(api::CallId asker);

  net::Hub& hub() { return *hub_; }
  /// Which agents write which output: it is to be told before an agent can know.
  /// Lets this key of an agent in, or no longer.
  void allow(const net::PublicKey& key, const cluster::AgentId& agent);
  void revoke(const net::PublicKey& key);
  void remove(cluster::LeaseId lease) { output_.remove(lease); }

 private:
  BulkService(const Dependencies& deps, const BulkLimits& limits, Tell tell);
  void take(const net::Peer& peer, BytesView bytes);
  void reply(const net::Peer& peer, const cluster::bulk::FromMaster& message);

  void serve(const net::Peer& peer, cluster::bulk::PutOutput& message) { output_.put(peer, std::move(message)); }
  void serve(const net::Peer& peer, const cluster::bulk::ReadOutput& message) { output_.read(peer, message); }
  void serve(const net::Peer& peer, const cluster::bulk::AskBlob& message);
  void serve(const net::Peer& peer, const cluster::bulk::PutBlob& message);
  void serve(const net::Peer& peer, const cluster::bulk::GetBlob& message);
  void refuse(const net::Peer& peer, std::uint64_t number, const Error& error);

  Dependencies deps_;
  Tell tell_;
  net::RefusalLog refusals_;
  BulkOutput output_;
  std::unique_ptr<net::Hub> hub_;
};

}  // namespace cadre::master
