/// Stores the output of leases and answers who reads it. What comes in one turn of the loop is made durable at once,
/// and only then acknowledged. For the thread of its loop.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/log.h"
#include "cluster/bulk.h"
#include "logs/store.h"
#include "loop/calendar.h"
#include "loop/loop.h"
#include "master/bulk_limits.h"
#include "master/bulk_metrics.h"
#include "net/hub.h"

namespace cadre::master {

class BulkOutput {
 public:
  using Reply = std::function<void(const net::Peer&, const cluster::bulk::FromMaster&)>;
  struct Dependencies {
    loop::Loop& loop;
    logs::LogStore& logs;
    const loop::Calendar& calendar;
    Log& log;
    BulkMetrics& metrics;
    Reply reply;
  };

  BulkOutput(Dependencies deps, const BulkLimits& limits);
  BulkOutput(const BulkOutput&) = delete;
  BulkOutput& operator=(const BulkOutput&) = delete;
  ~BulkOutput();

  void put(const net::Peer& peer, cluster::bulk::PutOutput part);
  void read(const net::Peer& peer, const cluster::bulk::ReadOutput& question);
  /// Removes all waits of this caller.
  void forget(const net::Peer& peer);
  void remove(cluster::LeaseId lease);
  /// Makes durable and acknowledges what was put.
  void flush();

 private:
  struct Put {
    net::Peer peer;
    std::uint64_t number = 0;
    cluster::LeaseId lease;
    bool gap = false;
  };
  struct Waiter {
    net::Peer peer;
    std::uint64_t number = 0;
    cluster::LeaseId lease;
    std::int64_t offset = 0;
    TimePoint until;
  };
  using Waiters = std::list<Waiter>;

  Result<std::int64_t> append(const std::string& name, cluster::bulk::PutOutput part);
  Result<std::int64_t> drop(const std::string& name, const cluster::bulk::PutOutput& part);
  void flush_later();
  Result<logs::Chunk> find(const cluster::bulk::ReadOutput& question);
  void answer(const net::Peer& peer, std::uint64_t number, logs::Chunk chunk);
  void wait(const net::Peer& peer, const cluster::bulk::ReadOutput& question, std::int64_t offset);
  void wake(cluster::LeaseId lease);
  void forget(Waiters::iterator waiter);
  void expire();
  void expire_later();
  void prune();
  void note_failure(const Error& error);
  void note_success();

  Dependencies deps_;
  const BulkLimits limits_;
  std::vector<Put> puts_;  ///< since the last flush
  bool flush_posted_ = false;
  bool failing_ = false;                  ///< the last attempt to store something failed
  std::set<cluster::LeaseId> overflown_;  ///< whose output is dropped, with a mark
  Waiters waiters_;                       ///< the one that waits longest first
  std::map<cluster::LeaseId, std::vector<Waiters::iterator>> waiters_of_;
  std::map<net::ConnectionId, std::int32_t> waiting_;
  loop::Timer expiry_;
  loop::Timer pruning_;
  std::shared_ptr<bool> gone_ = std::make_shared<bool>(false);  // shared with a flush on its way
};

}  // namespace cadre::master
