/// Follows a job: its output as it comes, and why it waits, until it has ended. For the thread of the session's loop.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "cli/command_context.h"
#include "cli/output.h"
#include "loop/tasks.h"

namespace cadre::cli {

/// Whether it is told why the job waits: on a line of the terminal that is written anew, or in lines of their own,
/// after some seconds and when the reason has changed.
enum class Waiting : std::uint8_t { unsaid, on_terminal, in_lines };

struct FollowOptions {
  OnLine on_line;                                                      ///< empty: its output is not read
  std::function<void(const cluster::requests::JobView&)> on_job = {};  ///< gets it when it has changed
  std::optional<cluster::TaskId> only;                                 ///< of all its tasks, this one
  std::optional<std::int32_t> only_rank;                               ///< the same, by its rank
  bool all_leases = false;      ///< whatever its tasks wrote before they were started again, too
  std::int64_t last_lines = 0;  ///< of what is there already
  LineFilter filter;
  Duration idle_max = question_max;  ///< of its tasks that are silent
  Waiting waiting = Waiting::unsaid;
};

class Follower {
 public:
  Follower(CommandContext& session, FollowOptions options);
  ~Follower();

  /// Until the job has ended and all of its output was handed on, whatever becomes of the master in between.
  [[nodiscard]] loop::Task<Result<cluster::requests::JobView>> to_end(cluster::requests::JobView job);

  /// How many tasks it has had at most, for who tells them apart.
  std::size_t tasks_most() const { return tasks_most_; }

 private:
  void take(const cluster::requests::JobView& job);
  /// How the job stands, once that may have changed.
  loop::Task<Result<cluster::requests::JobView>> changed(cluster::JobId job, std::uint64_t seen);
  loop::Task<void> show_waiting(cluster::JobId job);
  loop::Task<void> tell_waiting(cluster::JobId job);
  /// The first line of why it waits; empty: it waits no longer, or nobody knows.
  loop::Task<std::string> why_it_waits(cluster::JobId job);
  loop::Task<void> watch_connection();
  /// Says when the master has been away for a while, and that it is back.
  void note_connection();
  void clear_waiting();

  CommandContext& session_;
  const FollowOptions options_;
  std::size_t tasks_most_ = 0;
  bool waits_ = false;
  bool said_gone_ = false;
  TimePoint there_;  ///< when the master was last known to be there
  bool shown_ = false;
  std::map<cluster::TaskId, std::unique_ptr<TaskOutput>> outputs_;
  loop::Tasks readers_;
  loop::Tasks others_;
};

/// The number of a task within its job, when there are several; else it needs none.
std::string name_among(cluster::TaskId task, std::size_t tasks);
/// Before each line: that.
std::string prefix_of(cluster::TaskId task, std::size_t tasks);

}  // namespace cadre::cli
