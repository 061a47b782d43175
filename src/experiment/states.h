/// The states of experiments, trials and checkpoints, and which may follow which. Values; safe on any thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

namespace cadre::experiment {

/// What an experiment or a trial becomes once nothing of it runs any more. A more severe one replaces a milder one,
/// never the reverse; the order is that of severity.
enum class Outcome : std::uint8_t { completed, canceled, killed, error };
constexpr auto enum_names(Outcome) {
  return std::array{std::pair{Outcome::completed, "completed"}, std::pair{Outcome::canceled, "canceled"},
                    std::pair{Outcome::killed, "killed"}, std::pair{Outcome::error, "error"}};
}
constexpr Outcome more_severe(Outcome a, Outcome b) { return std::max(a, b); }

enum class ExperimentState : std::uint8_t {
  active,
  paused,
  stopping_completed,
  stopping_canceled,
  stopping_killed,
  stopping_error,
  completed,
  canceled,
  error,
  deleting,
  deleted,
  delete_failed,
};
constexpr auto enum_names(ExperimentState) {
  return std::array{std::pair{ExperimentState::active, "active"},
                    std::pair{ExperimentState::paused, "paused"},
                    std::pair{ExperimentState::stopping_completed, "stopping_completed"},
                    std::pair{ExperimentState::stopping_canceled, "stopping_canceled"},
                    std::pair{ExperimentState::stopping_killed, "stopping_killed"},
                    std::pair{ExperimentState::stopping_error, "stopping_error"},
                    std::pair{ExperimentState::completed, "completed"},
                    std::pair{ExperimentState::canceled, "canceled"},
                    std::pair{ExperimentState::error, "error"},
                    std::pair{ExperimentState::deleting, "deleting"},
                    std::pair{ExperimentState::deleted, "deleted"},
                    std::pair{ExperimentState::delete_failed, "delete_failed"}};
}
constexpr bool is_stopping(ExperimentState state) {
  return state >= ExperimentState::stopping_completed && state <= ExperimentState::stopping_error;
}
/// Nothing of it will ever run again, unless it is continued.
constexpr bool is_terminal(ExperimentState state) { return state >= ExperimentState::completed; }
/// Of one that is stopping.
constexpr Outcome outcome_of(ExperimentState state) {
  switch (state) {
    case ExperimentState::stopping_canceled: return Outcome::canceled;
    case ExperimentState::stopping_killed: return Outcome::killed;
    case ExperimentState::stopping_error: return Outcome::error;
    default: return Outcome::completed;
  }
}
constexpr ExperimentState stopping_state(Outcome outcome) {
  switch (outcome) {
    case Outcome::canceled: return ExperimentState::stopping_canceled;
    case Outcome::killed: return ExperimentState::stopping_killed;
    case Outcome::error: return ExperimentState::stopping_error;
    case Outcome::completed: break;
  }
  return ExperimentState::stopping_completed;
}
/// Killed counts as canceled once it is over; the reason says which.
constexpr ExperimentState terminal_state(Outcome outcome) {
  switch (outcome) {
    case Outcome::canceled:
    case Outcome::killed: return ExperimentState::canceled;
    case Outcome::error: return ExperimentState::error;
    case Outcome::completed: break;
  }
  return ExperimentState::completed;
}

enum class TrialState : std::uint8_t {
  queued,    ///< waits for slots, or for room among the trials of its experiment
  running,   ///< holds slots
  pausing,   ///< was asked to stop so that it can continue later
  paused,    ///< holds nothing; continues when its experiment or its searcher says so
  stopping,  ///< was asked to stop for good
  completed,
  canceled,
  error,
};
constexpr auto enum_names(TrialState) {
  return std::array{std::pair{TrialState::queued, "queued"},     std::pair{TrialState::running, "running"},
                    std::pair{TrialState::pausing, "pausing"},   std::pair{TrialState::paused, "paused"},
                    std::pair{TrialState::stopping, "stopping"}, std::pair{TrialState::completed, "completed"},
                    std::pair{TrialState::canceled, "canceled"}, std::pair{TrialState::error, "error"}};
}
constexpr bool is_terminal(TrialState state) { return state >= TrialState::completed; }
constexpr TrialState terminal_trial_state(Outcome outcome) {
  switch (outcome) {
    case Outcome::canceled:
    case Outcome::killed: return TrialState::canceled;
    case Outcome::error: return TrialState::error;
    case Outcome::completed: break;
  }
  return TrialState::completed;
}

enum class CheckpointState : std::uint8_t { active, completed, partially_deleted, deleted, error };
constexpr auto enum_names(CheckpointState) {
  return std::array{std::pair{CheckpointState::active, "active"}, std::pair{CheckpointState::completed, "completed"},
                    std::pair{CheckpointState::partially_deleted, "partially_deleted"},
                    std::pair{CheckpointState::deleted, "deleted"}, std::pair{CheckpointState::error, "error"}};
}

}  // namespace cadre::experiment
