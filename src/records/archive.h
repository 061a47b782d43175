/// Reads ended jobs from the database, over a connection of its own: what the master's memory does not hold any more.
/// One thread at a time, which need not be that of the records.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/control/rows.h"
#include "database/database.h"

namespace cadre::records {

struct ArchivedJob {
  cluster::control::JobRow row;
  std::vector<cluster::control::TaskRow> tasks;
};

/// Of the jobs with from <= id < before.
struct ArchiveQuery {
  std::uint64_t from = 0;
  std::uint64_t before = 0;
  std::optional<std::string> workspace;
  std::optional<std::string> owner;
  std::int64_t most = 0;
  /// That their specifications may take; two are given in any case.
  std::int64_t bytes_most = std::int64_t{32} << 20;
};

struct ArchivePage {
  std::vector<ArchivedJob> jobs;
  bool is_cut = false;  ///< there are more, which would take too many bytes
};

class Archive {
 public:
  /// The database must have today's schema: open the records first.
  [[nodiscard]] static Result<std::unique_ptr<Archive>> open(std::string_view url);

  /// Nothing if there is no such job, or it has not ended.
  [[nodiscard]] Result<std::optional<ArchivedJob>> find(cluster::JobId id);
  /// The newest of those asked for, newest first. For a page that is neither full nor cut all of the range was looked
  /// at.
  [[nodiscard]] Result<ArchivePage> list(const ArchiveQuery& query);

 private:
  explicit Archive(std::unique_ptr<database::Database> database) : database_(std::move(database)) {}

  std::unique_ptr<database::Database> database_;
};

}  // namespace cadre::records
