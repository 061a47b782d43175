/// The output of trials: that of the jobs of each, one after the other, of several trials side by side. For the thread
/// of the session's loop.
#pragma once

#include <deque>
#include <map>
#include <set>

#include "cli/commands/job_output.h"
#include "experiment/views.h"

namespace cadre::cli {

/// Trials whose output is followed at a time; each takes two requests that wait.
constexpr std::size_t followed_most = 100;

class TrialOutputs {
 public:
  /// Whether each line begins with its trial, or only with the task of a trial that has several.
  enum class Prefix : std::uint8_t { trial, task };
  /// Which of the jobs of a trial are shown: each of its runs may be another one.
  enum class Jobs : std::uint8_t { all, last };

  TrialOutputs(CommandContext& session, const ClientOptions& client, OutputOptions output, Prefix prefix);

  /// Shows the output of jobs of the trial that were not shown yet, beside that of others.
  void show(const experiment::TrialView& trial, Jobs jobs);
  /// Whether it has begun to show output of the trial.
  bool has_begun(experiment::TrialId trial) const { return trials_.contains(trial); }
  /// Once nothing more comes of what was begun.
  loop::Task<void> ended();
  /// The exit code; prints what is printed at the end.
  int finish();

 private:
  struct Trial {
    std::set<cluster::JobId> begun;
    std::deque<cluster::JobId> next;
    bool is_read = false;
  };
  loop::Task<void> read_jobs(experiment::TrialId id);

  CommandContext& session_;
  const OutputOptions output_;
  const Prefix prefix_;
  LineSink sink_;
  std::map<experiment::TrialId, Trial> trials_;
  bool said_too_many_ = false;
  int code_ = 0;
  loop::Tasks readers_;
};

}  // namespace cadre::cli
