/// The bulk sides of a master's parts, each on a thread of its own. For the thread of the master's loop, but for what
/// says otherwise.
#pragma once

#include <any>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "app/parts.h"
#include "base/log.h"
#include "cluster/ids.h"
#include "loop/loop.h"
#include "master/bulk/bulk_thread.h"
#include "master/master.h"

namespace cadre::app {

class BulkThreads {
 public:
  explicit BulkThreads(loop::Loop& loop) : loop_(loop) {}

  struct Options {
    std::string database;
    std::function<std::uint64_t()> boot;                 ///< called on any thread
    std::function<void(api::CallId, api::Reply)> reply;  ///< called on any thread
  };
  /// Starts the bulk side of each of the parts that has one. The master must outlive them or their stop().
  [[nodiscard]] Result<void> start(const std::vector<PartDeclaration>& parts, const Options& options,
                                   master::Master& master, Log& log);
  void stop();

  /// What serves the bulk requests of this part of the list; null: it has none.
  [[nodiscard]] api::Service* service(std::size_t part);
  /// For the bulk side of this part, if it has one.
  void learn(std::size_t part, std::vector<std::any> facts);
  void end(const std::vector<cluster::LeaseId>& leases);
  /// Calls `done`, on the loop, when none of them serves older leases of these tasks any more.
  void fence(const std::vector<cluster::LeaseId>& newest, const std::function<void()>& done);
  /// Safe on any thread once all have started.
  [[nodiscard]] std::vector<Metric> metrics() const;

 private:
  loop::Loop& loop_;
  master::IngestMetrics metrics_;
  std::map<std::size_t, std::unique_ptr<master::BulkThread>> threads_;  ///< by the place of the part in the list
};

}  // namespace cadre::app
