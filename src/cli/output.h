/// The output of tasks, read from the master and handed on line by line. For the thread of the session's loop.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "cli/command_context.h"
#include "cli/inquiry.h"
#include "cluster/output.h"
#include "cluster/requests.h"
#include "logs/record.h"
#include "loop/tasks.h"

namespace cadre::cli {

/// Gets each line of a task.
using OnLine = std::function<void(cluster::TaskId, const logs::Line&)>;

/// Which lines are wanted.
struct LineFilter {
  std::optional<TimePoint> since;
  std::optional<Level> level;
  std::string grep;
};

/// How long one question for more output waits.
constexpr Duration question_max = std::chrono::seconds(60);

/// How much of the output of one lease has been read.
struct Reading {
  cluster::LeaseId lease;
  std::int64_t offset = 0;
  std::int64_t last_lines = 0;  ///< begin so many lines before the end
  std::int64_t end = 0;         ///< it is known to have written so much
  LineFilter filter;
};

/// Hands on what is there now, to the end, and waits a moment for what is known to come.
[[nodiscard]] loop::Task<Result<void>> read_all(CommandContext& session, const Reading& from, const OnLine& on_line);

/// Follows one task through its leases, each to the end of its output. Ending it ends the reading.
class TaskOutput {
 public:
  struct Options {
    cluster::TaskId task;
    bool all_leases = false;      ///< those before the first that is told, too
    std::int64_t last_lines = 0;  ///< of the first that is read
    OnLine on_line;
    LineFilter filter;
    Duration idle_max = question_max;  ///< a task that is silent is asked for again after so long
  };

  /// The coroutines that read are spawned among `tasks`.
  TaskOutput(CommandContext& session, loop::Tasks& tasks, Options options)
      : session_(session), tasks_(tasks), options_(std::move(options)) {}

  /// How the task stands now.
  void tell(const cluster::requests::TaskView& view);
  /// Nothing more will be told: what is not there soon will not come.
  void tell_over();

 private:
  struct Lease {
    Reading reading;
    std::optional<std::int64_t> end;  ///< of its output, once that is known
    bool is_over = false;             ///< its end will never be known
  };
  void add_leases(std::uint64_t epoch);
  loop::Task<void> follow();
  /// Whether all of it was read, or is not to come any more.
  bool is_done(const Lease& lease, TimePoint last_progress);
  Duration wait_for(const Lease& lease, TimePoint last_progress) const;
  void wake() {
    if (question_) question_->interrupt();
  }

  CommandContext& session_;
  loop::Tasks& tasks_;
  const Options options_;
  std::deque<Lease> leases_;  ///< the first is being read
  std::uint64_t last_epoch_ = 0;
  bool follows_ = false;
  std::unique_ptr<Inquiry<Result<cluster::requests::LogPage>>> question_;
};

}  // namespace cadre::cli
