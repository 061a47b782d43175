/// Sends the output of tasks from their spools to the master, from where it is stored on, and says how far it is
/// stored. Keeps nothing itself: after a restart the master says what it has. For the thread of its loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "agent/bulk_link.h"
#include "base/bytes.h"
#include "base/log.h"
#include "base/time.h"
#include "cluster/ids.h"
#include "logs/spool.h"
#include "loop/loop.h"

namespace cadre::agent {

struct ShipperOptions {
  std::size_t parts_max = 64;                  ///< under way at a time, over all leases
  ByteSize bytes_max{std::int64_t{16} << 20};  ///< of these; one part may go beyond it
  std::size_t parts_max_each = 4;              ///< of one lease
  Duration resend_first = std::chrono::seconds(3);
  Duration resend_longest = std::chrono::seconds(30);
};

class Shipper {
 public:
  /// Called on the loop, never inside a function of the shipper's; they may call those.
  struct Listener {
    /// Everything before `end` is stored: the supervisor may free its space.
    std::function<void(cluster::LeaseId, std::int64_t end)> stored;
    /// The output of a task that has ended is stored, or what is missing of it is lost. The lease is forgotten here,
    /// and its folder may go.
    std::function<void(cluster::LeaseId)> finished;
  };

  Shipper(loop::Loop& loop, BulkLink& link, Log& log, Listener listener)
      : Shipper(loop, link, log, std::move(listener), ShipperOptions{}) {}
  Shipper(loop::Loop& loop, BulkLink& link, Log& log, Listener listener, const ShipperOptions& options);
  Shipper(const Shipper&) = delete;
  Shipper& operator=(const Shipper&) = delete;
  ~Shipper();

  /// Ships what is in this spool (the folder `output` of a task), and what comes. Nothing, if it is known already.
  void add(cluster::LeaseId lease, std::string output_folder);
  /// There is output up to `end`.
  void grown(cluster::LeaseId lease, std::int64_t end);
  /// The task has ended and there will be no more than this.
  void ended(cluster::LeaseId lease, std::int64_t output_end);
  /// Forgets a lease, stored or not.
  void remove(cluster::LeaseId lease);

  std::size_t leases() const { return leases_.size(); }

 private:
  struct Part {
    std::uint64_t number = 0;
    std::int64_t end = 0;
    std::int64_t size = 0;
  };
  struct Lease;
  using Leases = std::map<cluster::LeaseId, Lease>;

  void want(Leases::iterator lease);
  void pump();
  bool send_part(Leases::iterator lease);
  void hear(const cluster::bulk::OutputStored& stored);
  void go_back(Lease& lease, std::int64_t to);
  void drop_under_way(Lease& lease, std::size_t parts);
  void wait_and_resend(Leases::iterator lease);
  void settle(Leases::iterator lease);

  loop::Loop& loop_;
  BulkLink& link_;
  Log& log_;
  const Listener listener_;
  const ShipperOptions options_;
  Leases leases_;
  std::deque<cluster::LeaseId> turns_;  ///< of the leases that have something to send
  std::size_t parts_ = 0;               ///< under way
  std::int64_t bytes_ = 0;
  std::uint64_t number_ = 0;
  loop::Timer pause_;  ///< until the link takes more
};

}  // namespace cadre::agent
