/// The bulk side of one part of a master on a thread of its own, with a database connection of its own. Safe on any
/// thread, but for its end.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/log.h"
#include "base/result.h"
#include "master/bulk/bulk_part.h"
#include "master/bulk/ingest.h"

namespace cadre::master {

/// Makes the bulk side of a part.
using MakeBulkPart = std::function<std::unique_ptr<BulkPart>(const BulkPart::Dependencies&)>;

class BulkThread {
 public:
  struct Options {
    std::string database;                 ///< URL; its schema must be up to date
    std::function<std::uint64_t()> boot;  ///< see BulkDatabase; called on the bulk side's thread
    MakeBulkPart make;
    std::function<void(std::any news, ByteSize size)> tell_part;  ///< see BulkPart::Dependencies
    std::function<void(api::CallId, api::Reply)> reply;           ///< called on the bulk side's thread
    IngestCounters counters;
    IngestLimits limits;
  };
  /// Serves at once. The identifier must outlive it or its stop().
  [[nodiscard]] static Result<std::unique_ptr<BulkThread>> start(Options options, api::Identifier& identifier,
                                                                 Log& log);
  BulkThread(const BulkThread&) = delete;
  BulkThread& operator=(const BulkThread&) = delete;
  ~BulkThread();

  Ingest& ingest();
  /// Serves what it was asked, no more, and joins its thread. Idempotent.
  void stop();

 private:
  struct Inside;
  explicit BulkThread(std::unique_ptr<Inside> inside);
  std::unique_ptr<Inside> inside_;
};

}  // namespace cadre::master
