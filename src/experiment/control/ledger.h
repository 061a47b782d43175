/// The experiments that are not over, with their trials, and which of their rows have changed since they were last
/// written. One thread at a time.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "api/change.h"
#include "api/rows.h"
#include "experiment/recorded_search.h"
#include "experiment/rows.h"

namespace cadre::experiment {

inline constexpr api::ChangeKind experiment_changes{"experiment",
                                                    "An experiment has a new state, setting, progress or best trial."};
inline constexpr api::ChangeKind trial_changes{"trial", "A trial has a new state, restart or validation."};
inline constexpr api::ChangeKind checkpoint_changes{"checkpoint", "A checkpoint is complete or was deleted."};

struct Trial {
  TrialRow row;
  std::optional<CheckpointRow> latest;                ///< its latest complete checkpoint, if this master has seen it
  std::map<CheckpointId, CheckpointRow> active = {};  ///< that are being uploaded by its current run
  std::map<std::int64_t, double> validated = {};      ///< searcher metric by steps, of its last validations
};

struct Experiment {
  ExperimentRow row;
  ExperimentSpecRow spec;
  Checked checked;
  RecordedSearch search;
  std::deque<Trial> trials = {};          ///< by number; references stay valid when others are created
  std::uint64_t live = 0;                 ///< trials that are not terminal
  double ended_share = 0;                 ///< sum of the progress of all trials
  std::set<CheckpointId> removing = {};   ///< checkpoints whose files are being removed because it is deleted
  bool is_reading = false;                ///< its checkpoints, to know which of them are to be removed
  bool has_metrics = true;                ///< while it is deleted: the bulk side has yet to remove them
  std::deque<search::Event> events = {};  ///< that the search was not told yet
};

/// Everything that is loaded of an experiment.
struct ExperimentRows {
  ExperimentRow row;
  ExperimentSpecRow spec;
  std::vector<TrialRow> trials;
  std::optional<SearchRow> search;
  std::vector<SearchEventRow> events;
  std::vector<CheckpointRow> checkpoints;  ///< active ones, and the latest of each live trial
};

class Ledger {
 public:
  explicit Ledger(ExperimentId last) : last_(last) {}

  /// `corrupt` if the rows do not belong together.
  [[nodiscard]] Result<Experiment*> load(ExperimentRows rows);
  Experiment& add(Experiment experiment);
  [[nodiscard]] ExperimentId next_id() const { return {last_.value + 1}; }
  /// It is over: it is forgotten after the next take().
  void forget(ExperimentId id) { forgotten_.insert(id); }
  /// All that is kept of it beside its own row is removed at the next take().
  void remove_rows(const Experiment& experiment);
  /// One that was added since the last take() is not to be.
  void drop_new(ExperimentId id);

  [[nodiscard]] std::map<ExperimentId, Experiment>& all() { return experiments_; }
  [[nodiscard]] const std::map<ExperimentId, Experiment>& all() const { return experiments_; }
  [[nodiscard]] Experiment* find(ExperimentId id);
  [[nodiscard]] const Experiment* find(ExperimentId id) const;
  [[nodiscard]] Trial* find(TrialId id);
  /// The trial that runs in this job.
  [[nodiscard]] std::optional<TrialId> trial_of(cluster::JobId job) const;
  [[nodiscard]] const std::map<cluster::JobId, TrialId>& jobs() const { return jobs_; }

  /// They are written at the next take().
  void changed(const Experiment& experiment) { experiments_changed_.insert(experiment.row.id); }
  void changed(const Trial& trial);
  /// As changed(), also of what is written once.
  void changed_spec(const Experiment& experiment) {
    changed(experiment);
    specs_changed_.insert(experiment.row.id);
  }
  void put(const CheckpointRow& checkpoint) { checkpoints_[checkpoint.id] = checkpoint; }
  void begin(Trial& trial, const CheckpointRow& checkpoint);
  void complete(Trial& trial, const CheckpointRow& checkpoint);
  /// Its run has ended before they were complete.
  void abandon_active(Trial& trial);
  /// Its files are to be removed; until that is done, it is written as partially deleted.
  void remove(CheckpointRow checkpoint);
  /// Its files are gone, or could not be removed.
  void removed(const CheckpointRow& checkpoint) {
    going_.erase(checkpoint.id);
    put(checkpoint);
  }
  /// Whether its files are being removed, whatever was read of it before.
  [[nodiscard]] bool is_going(const CheckpointId& id) const { return going_.contains(id); }
  [[nodiscard]] std::vector<CheckpointRow> take_removals() { return std::exchange(removals_, {}); }
  /// The checkpoints with which trials that have not ended may begin.
  [[nodiscard]] std::set<CheckpointId> pinned() const;
  /// Whether some run uploads it.
  [[nodiscard]] bool is_active(const CheckpointId& id) const { return active_.contains(id); }
  void remove(const ValidationRow& validation) { validations_.push_back(validation); }
  void note(TimePoint now, const Experiment& experiment, std::string what);
  void note(TimePoint now, const Experiment& experiment, const Trial& trial, std::string what);
  void note(TimePoint now, const Experiment& experiment, const CheckpointRow& checkpoint, std::string what);

  void set_state(Experiment& experiment, Trial& trial, TrialState state);
  void set_job(Trial& trial, cluster::JobId job);
  /// Its job has ended.
  void clear_job(Trial& trial);

  struct Taken {
    api::Writes writes;
    std::vector<api::ChangeRow> changes;
  };
  [[nodiscard]] Taken take();

 private:
  void count(Experiment& experiment, TrialState state, int sign);
  void forget_now(ExperimentId id);

  std::map<ExperimentId, Experiment> experiments_;
  std::map<cluster::JobId, TrialId> jobs_;
  ExperimentId last_;
  std::set<ExperimentId> specs_changed_;
  std::set<CheckpointId> active_;
  std::set<ExperimentId> experiments_changed_;
  std::set<TrialId> trials_changed_;
  std::map<CheckpointId, CheckpointRow> checkpoints_;
  std::vector<CheckpointRow> removals_;
  std::set<CheckpointId> going_;
  std::vector<ValidationRow> validations_;
  std::vector<TrialRow> trials_gone_;
  std::vector<ExperimentSpecRow> specs_gone_;
  std::vector<SearchRow> searches_gone_;
  std::vector<SearchEventRow> events_gone_;
  std::vector<api::ChangeRow> changes_;
  std::set<ExperimentId> forgotten_;
};

/// The length of its trials, in the unit of the time metric, if the file sets one; 0: it does not.
[[nodiscard]] std::int64_t length_of(const Experiment& experiment);
/// How far a trial is, 0 to 1.
[[nodiscard]] double share_of(const Experiment& experiment, const Trial& trial);

}  // namespace cadre::experiment
