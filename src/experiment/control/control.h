/// The control logic of experiments: takes requests of users and of programs of trials, and news of jobs, validations
/// and draws, and collects what is to be written and done. Pure; one thread at a time.
#pragma once

#include <any>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "api/part.h"
#include "experiment/control/lives.h"
#include "experiment/requests/trials.h"

namespace cadre::experiment {

// Effects, for the shell of the part.

/// Draw the point, and answer with PointReady.
struct DrawPoint {
  DrawOrder order;
};
/// Read all rows of an experiment that is over, and answer with ExperimentFound.
struct FindExperiment {
  api::Call call;
  api::Request request;
  ExperimentId experiment;
};
/// Read a checkpoint with its experiment, and answer with CheckpointFound.
struct FindCheckpoint {
  api::Call call;
  api::Request request;
  CheckpointId checkpoint;
};

/// List the files of a checkpoint that its store has, and answer with FilesListed.
struct ListFiles {
  api::Call call;
  requests::CompleteCheckpoint request;
  std::string store;
};
/// Read all checkpoints of an experiment, and answer with CheckpointsRead.
struct ReadCheckpoints {
  ExperimentId experiment;
};
/// Remove the files of a checkpoint, and answer with CheckpointRemoved.
struct RemoveCheckpoint {
  CheckpointRow checkpoint;
};

// News of the shell.

struct PointReady {
  ExperimentId experiment;
  std::uint64_t event = 0;  ///< of the order
  search::Point point;
};
/// Nothing: there is none.
struct ExperimentFound {
  api::Call call;
  api::Request request;
  ExperimentId experiment;
  Result<std::optional<ExperimentRows>> rows;
};
struct FoundCheckpoint {
  CheckpointRow checkpoint;
  ExperimentRow experiment;
};
struct CheckpointFound {
  api::Call call;
  api::Request request;
  Result<std::optional<FoundCheckpoint>> found;
};

struct FilesListed {
  api::Call call;
  requests::CompleteCheckpoint request;
  Result<std::map<std::string, std::int64_t>> files;  ///< with their sizes
};
struct CheckpointsRead {
  ExperimentId experiment;
  std::vector<CheckpointRow> checkpoints;
};
/// With an error, some files may be left.
struct CheckpointRemoved {
  CheckpointRow checkpoint;
  std::optional<Error> error;
};

/// Checkpoints that a run may upload at a time.
constexpr std::size_t active_checkpoints_most = 16;
/// Programs of custom searches that may wait for events.
constexpr std::size_t search_waiters_most = 1'000;

class Control {
 public:
  struct Options {
    std::set<std::string> stores = {"default"};  ///< that checkpoints may be kept in
  };
  struct Loaded {
    ExperimentId last;                        ///< the largest number that was given out
    std::vector<ExperimentRows> experiments;  ///< those that are not over
    std::vector<ValidationRow> validations;   ///< that the searches were not told
    std::vector<CheckpointRow> removals;      ///< checkpoints that are partially deleted
  };
  Control(Options options, Loaded loaded, JobControl& jobs, TimePoint now);

  /// Nothing: the reply comes later.
  [[nodiscard]] std::optional<api::Reply> serve(const api::Call& call, const api::Request& request);
  /// The caller repeats a request that has created this experiment.
  [[nodiscard]] std::optional<api::Reply> serve_created(const api::Call& call, ExperimentId id);

  void review(cluster::JobId job, TimePoint now) { lives_.review(job, now); }
  void hear(const Validated& news, TimePoint now) { lives_.validated(news.validation, now); }
  void hear(const PointReady& news, TimePoint now) { lives_.drawn(news.experiment, news.event, news.point, now); }
  void hear(const OutputSearched& news, TimePoint now) { lives_.searched(news, now); }
  void hear(const ExperimentFound& news);
  void hear(const CheckpointFound& news);
  void hear(const FilesListed& news, TimePoint now);
  void hear(const CheckpointsRead& news, TimePoint now);
  void hear(const CheckpointRemoved& news, TimePoint now);
  void hear(const MetricsRemoved& news, TimePoint now);

  /// The caller waits for no reply any more.
  void forget(api::CallId call) {
    std::erase_if(waiters_, [&](const Waiter& waiter) { return waiter.call == call; });
  }
  [[nodiscard]] std::vector<api::CallId> waiting() const;
  /// Answers callers that have waited long enough, and submits what could not be submitted before.
  void tick(TimePoint now) {
    answer_waiters(now);
    lives_.tick(now);
  }

  /// What is to be written and done since the last call.
  [[nodiscard]] api::Outcome take();

  [[nodiscard]] const Ledger& ledger() const { return ledger_; }
  /// Experiments that could not be read.
  [[nodiscard]] std::vector<Error> take_unreadable() { return std::exchange(unreadable_, {}); }
  /// Whether an experiment that is not over is in this workspace.
  [[nodiscard]] bool is_used(const std::string& workspace) const;

 private:
  using Request = std::variant<requests::CreateExperiment, requests::PauseExperiment, requests::ActivateExperiment,
                               requests::CancelExperiment, requests::KillExperiment, requests::SetExperiment,
                               requests::DeleteExperiment, requests::PostSearchActions, requests::CancelTrial,
                               requests::KillTrial, requests::ContinueTrial, requests::BeginRun, requests::ReportTrial>;

  api::Reply serve(const api::Call& call, const requests::CreateExperiment& request);
  api::Reply serve(const api::Call& call, const requests::PauseExperiment& request);
  api::Reply serve(const api::Call& call, const requests::ActivateExperiment& request);
  api::Reply serve(const api::Call& call, const requests::CancelExperiment& request);
  api::Reply serve(const api::Call& call, const requests::KillExperiment& request);
  api::Reply serve(const api::Call& call, const requests::SetExperiment& request);
  api::Reply serve(const api::Call& call, const requests::DeleteExperiment& request);
  api::Reply serve(const api::Call& call, const requests::PostSearchActions& request);
  api::Reply serve(const api::Call& call, const requests::CancelTrial& request);
  api::Reply serve(const api::Call& call, const requests::KillTrial& request);
  api::Reply serve(const api::Call& call, const requests::ContinueTrial& request);
  api::Reply serve(const api::Call& call, const requests::BeginRun& request);
  api::Reply serve(const api::Call& call, const requests::ReportTrial& request);
  /// Nothing: the store is asked first whether it has the files.
  std::optional<api::Reply> complete(const api::Call& call, const requests::CompleteCheckpoint& request);
  api::Reply complete_now(const api::Call& call, const requests::CompleteCheckpoint& request,
                          const std::map<std::string, std::int64_t>& files, TimePoint now);
  /// What refuses it, whatever its store has; nothing: it can be completed.
  std::optional<api::Reply> answer_at_once(const api::Call& call, const requests::CompleteCheckpoint& request);

  [[nodiscard]] std::optional<api::Reply> serve_now(const api::Call& call, const api::Request& request);
  api::Reply begin_checkpoint(const api::Call& call, const requests::BeginCheckpoint& request,
                              const std::optional<FoundCheckpoint>& found);
  api::Reply delete_checkpoint(const api::Call& call, const std::optional<FoundCheckpoint>& found);
  /// Removes what is to be removed of an experiment that has ended or is deleted.
  void begin_cleanup(Experiment& experiment);
  void fail_deletion(Experiment& experiment, const std::string& why, TimePoint now);
  /// Looks whether all of an experiment that is deleted is gone.
  void review_deletion(Experiment& experiment, TimePoint now);
  api::Reply stop_trial(const api::Call& call, TrialId id, Outcome outcome);
  /// Of a user who may change it. Null: the error is in `refusal_`.
  Experiment* own(const api::Call& call, ExperimentId id);
  /// Of a task that runs this trial. Null: the error is in `refusal_`.
  Trial* running(const api::Call& call, TrialId id);
  Result<void> change_jobs(Experiment& experiment, const JobChange& change);

  /// The program of a custom search waits for its next event.
  struct Waiter {
    api::CallId call = 0;
    ExperimentId experiment;
    std::uint64_t after = 0;
    TimePoint until;
  };
  std::optional<api::Reply> get_events(const api::Call& call, const requests::GetSearchEvents& request);
  /// The events that have come for it; nothing: there is none yet.
  [[nodiscard]] std::optional<requests::SearchEvents> events_for(const Waiter& waiter) const;
  void answer_waiters(std::optional<TimePoint> now);

  const Options options_;
  Ledger ledger_;
  JobControl& jobs_;
  Lives lives_;
  std::vector<Waiter> waiters_;
  api::Outcome outcome_;
  api::Failed refusal_;
  std::vector<Error> unreadable_;
};

}  // namespace cadre::experiment
