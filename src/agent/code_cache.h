/// The code of tasks, fetched by its hash, unpacked and set up once, and copied for each task. For the thread of its
/// loop; what blocks runs on a pool.
///
/// Each task gets a copy of its own, so that tasks cannot disturb each other: a tree of many gigabytes costs that much
/// disk and time for each task. Data belongs into mounts, not into code.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "agent/bulk_link.h"
#include "base/bytes.h"
#include "base/log.h"
#include "base/result.h"
#include "base/time.h"
#include "loop/blocking_pool.h"
#include "loop/loop.h"
#include "loop/task.h"

namespace cadre::agent {

struct CodeCacheOptions {
  std::string folder;
  ByteSize bytes_max{std::int64_t{16} << 30};  ///< of what no task uses; what was used longest ago goes first
  ByteSize unpacked_bytes_max{std::int64_t{8} << 30};
  Duration setup_max = std::chrono::minutes(30);
  Duration answer_max = std::chrono::seconds(10);  ///< then the master is asked again
  Duration fetch_max = std::chrono::minutes(30);   ///< without any progress
};

/// What a task needs before it can start.
struct CodeRequest {
  std::string hash;                              ///< of the packed code; empty: none
  std::vector<std::string> setup;                ///< shell commands, run in the unpacked code one after another
  std::map<std::string, std::string> variables;  ///< their environment
};

class CodeCache {
 public:
  /// Clears away what an earlier process left unfinished.
  [[nodiscard]] static Result<std::unique_ptr<CodeCache>> open(CodeCacheOptions options, loop::Loop& loop,
                                                               loop::BlockingPool& pool, BulkLink& link, Log& log);
  CodeCache(const CodeCache&) = delete;
  CodeCache& operator=(const CodeCache&) = delete;
  /// Kills setup commands that still run. Whoever awaits something from it must be gone.
  ~CodeCache();

  /// Unpacked code that stays where it is as long as this lives; must not outlive the cache.
  class [[nodiscard]] Tree;

  /// The unpacked code, after its setup. The same request made by several at once is served once. Not_found when the
  /// master has no such content; invalid when a setup command fails, with its last lines of output. Destroying the
  /// task takes the wish back, but not the work for others.
  [[nodiscard]] loop::Task<Result<Tree>> fetch(CodeRequest request);

  /// fetch() and a copy of it into a folder, which must be empty or not there yet.
  [[nodiscard]] loop::Task<Result<void>> place(CodeRequest request, std::string folder);

  /// Disk space that it takes.
  ByteSize size() const;

 private:
  struct Inside;
  explicit CodeCache(std::unique_ptr<Inside> inside);
  std::unique_ptr<Inside> inside_;
};

}  // namespace cadre::agent
