/// States and counts of experiments and trials in words. Pure; safe on any thread.
#pragma once

#include <string>
#include <vector>

#include "experiment/views.h"
#include "search/space.h"

namespace cadre::cli {

/// Whether an experiment with a search of its own has nothing to do until the program of the search decides.
[[nodiscard]] bool waits_for_its_search(const experiment::ExperimentView& experiment);
/// `active`, `stopping (canceled)`, `completed, archived`.
[[nodiscard]] std::string state_words(const experiment::ExperimentView& experiment);
/// `20 trials: 4 running, 14 completed, 1 failed`; states without trials are left out.
[[nodiscard]] std::string count_words(const experiment::ExperimentView& experiment);
/// `12.7 with loss 0.03125`; empty: there is none yet.
[[nodiscard]] std::string best_words(const experiment::ExperimentView& experiment);
/// How the experiment stands, in one line.
[[nodiscard]] std::string summary_words(const experiment::ExperimentView& experiment);

/// How an experiment has ended: `experiment 12 completed: 20 trials: …; best 12.7 with loss 0.03125`.
[[nodiscard]] std::string outcome_words(const experiment::ExperimentView& experiment);

/// Which values a hyperparameter may have: `1e-05 to 0.1 (log)`, `32, 64 or 128`.
[[nodiscard]] std::string domain_words(const search::Domain& domain);

/// How long the trial has run: not the time in which it was queued or paused. Empty: it never ran.
[[nodiscard]] std::string runtime_words(const experiment::TrialView& trial, TimePoint now);

/// `trial 12.3 completed: loss 0.031 after 900 steps`, `trial 12.3 failed: exited with 1`.
[[nodiscard]] std::string trial_words(const experiment::TrialView& trial, const std::string& metric);

}  // namespace cadre::cli
