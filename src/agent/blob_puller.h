/// Gets content from the master by its hash, part by part, asking again when no answer comes. For the thread of its
/// loop; files are written on a pool.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "agent/bulk_link.h"
#include "base/bytes.h"
#include "base/result.h"
#include "base/time.h"
#include "loop/blocking_pool.h"
#include "loop/loop.h"
#include "loop/task.h"

namespace cadre::agent {

struct BlobPullerOptions {
  ByteSize bytes_max{std::int64_t{1} << 30};       ///< of one content
  Duration answer_max = std::chrono::seconds(10);  ///< then the master is asked again
  Duration stall_max = std::chrono::minutes(10);   ///< without any part
};

class BlobPuller {
 public:
  /// What it stands on; all of it must outlive it.
  struct Dependencies {
    loop::Loop& loop;
    loop::BlockingPool& pool;
    BulkLink& link;
  };

  BlobPuller(const Dependencies& deps, const BlobPullerOptions& options);
  BlobPuller(const BlobPuller&) = delete;
  BlobPuller& operator=(const BlobPuller&) = delete;
  ~BlobPuller();

  /// Writes the content to a file. Not_found when the master does not have it, corrupt when it is something else,
  /// timed_out when the master says nothing for too long. On an error there may be a part of the file.
  [[nodiscard]] loop::Task<Result<void>> pull(std::string hash, std::string file);

 private:
  class PendingRequest;
  using BlobPart = cluster::bulk::BlobPart;
  loop::Task<Result<BlobPart>> get(std::string hash, std::int64_t offset);
  void hear(const BulkLink::BlobAnswer& answer);

  loop::Loop& loop_;
  loop::BlockingPool& pool_;
  BulkLink& link_;
  const BlobPullerOptions options_;
  std::map<std::uint64_t, PendingRequest*> asked_;
};

}  // namespace cadre::agent
