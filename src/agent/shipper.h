/// Sends the output of tasks from their spools to the master, from where it is stored on, and says how far it is
/// stored. Keeps nothing itself: after a restart the master says what it has. For the thread of its loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "agent/bulk_link.h"
#include "agent/output_source.h"
#include "base/bytes.h"
#include "base/log.h"
#include "base/time.h"
#include "cluster/ids.h"
#include "logs/record.h"
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
    /// Everything before `end` is stored, or refused by the master: the supervisor may free its space.
    std::function<void(cluster::LeaseId, std::int64_t end)> stored;
    /// The output of a task that has ended is stored, or what is missing of it is lost, or the master takes no output
    /// of this lease from this agent. The lease is forgotten here, and its folder may go.
    std::function<void(cluster::LeaseId)> finished;
  };

  /// What it stands on must outlive it.
  Shipper(loop::Loop& loop, BulkLink& link, Log& log, Listener listener, const ShipperOptions& options = {});
  Shipper(const Shipper&) = delete;
  Shipper& operator=(const Shipper&) = delete;
  ~Shipper();

  /// Ships what is in this source, and what comes. Nothing, if the lease is known already.
  void add(cluster::LeaseId lease, std::unique_ptr<OutputSource> source);
  bool knows(cluster::LeaseId lease) const { return leases_.contains(lease); }
  /// There is output up to `end`.
  void grown(cluster::LeaseId lease, std::int64_t end);
  /// The task has ended and there will be no more than this; `lost` bytes more could not be written. What is missing
  /// is marked by a note at the end.
  void ended(cluster::LeaseId lease, std::int64_t output_end, std::int64_t lost = 0);
  /// Forgets a lease, stored or not.
  void remove(cluster::LeaseId lease);

  std::size_t leases() const { return leases_.size(); }

 private:
  struct Part {
    std::uint64_t number = 0;
    std::int64_t end = 0;
    std::int64_t size = 0;
  };
  struct Lease {
    Lease(std::unique_ptr<OutputSource> output, Duration first_wait);
    std::unique_ptr<OutputSource> source;
    std::int64_t stored = 0;               ///< everything before it is, or is gone
    std::int64_t sent = 0;                 ///< where the next part begins
    std::int64_t written = 0;              ///< how far the task has written, as far as is known
    std::optional<std::int64_t> last_end;  ///< where it will end, once that is known
    std::int64_t lost = 0;                 ///< bytes that never came into the spool
    std::optional<logs::Chunk> mark;       ///< of what is missing, behind all that is there
    std::deque<Part> under_way;
    std::uint64_t first_number = 0;  ///< of what was sent since it went back
    bool answered = false;           ///< once it was, the master is known to have no more than was sent
    bool has_turn = false;
    bool is_refused = false;  ///< the master takes no more of it than a mark
    Duration wait;            ///< until what is under way is sent again
    loop::Timer resend;
  };
  using Leases = std::map<cluster::LeaseId, Lease>;

  void want(Leases::iterator lease);
  void pump();
  bool has_room(const Lease& lease) const;
  void send_part(Leases::iterator lease);
  void rest_is_missing(Leases::iterator lease);
  void hear(const cluster::bulk::OutputStored& answer);
  void refused(const cluster::bulk::Refused& answer);
  void part_refused(Leases::iterator lease, const cluster::bulk::Refused& answer);
  void free_later(cluster::LeaseId lease);
  void drop(cluster::LeaseId lease);
  void progress(Leases::iterator lease, std::int64_t end);
  void go_back(Leases::iterator lease, std::int64_t to);
  void take_out(Lease& lease, std::int64_t up_to);
  void resend_later(Leases::iterator lease);
  void resend(cluster::LeaseId lease);
  void pause();
  void settle(cluster::LeaseId lease);
  void settle_later(cluster::LeaseId lease);

  loop::Loop& loop_;
  BulkLink& link_;
  Log& log_;
  const Listener listener_;
  const ShipperOptions options_;
  Leases leases_;
  std::deque<cluster::LeaseId> turns_;  ///< of the leases that may have something to send
  std::size_t parts_ = 0;               ///< under way
  std::int64_t bytes_ = 0;
  bool paused_ = false;  ///< the link takes no more for now
  loop::Timer pause_;
  Duration pause_for_{};
  std::shared_ptr<bool> gone_ = std::make_shared<bool>(false);  // shared with calls on their way
};

}  // namespace cadre::agent
