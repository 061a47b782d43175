/// The lives of experiments and trials: what follows from ends of jobs, validations, decisions of searches, and the
/// wishes of users. One thread at a time.
#pragma once

#include <any>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "experiment/control/job_control.h"
#include "experiment/control/ledger.h"
#include "experiment/control/log_policies.h"
#include "experiment/facts.h"

namespace cadre::experiment {

/// How a trial is stopped, and why.
struct TrialStop {
  std::optional<Duration> grace;  ///< default: that of its job
  std::string what;               ///< for the change log
};

class Lives {
 public:
  Lives(Ledger& ledger, JobControl& jobs) : ledger_(ledger), jobs_(jobs) {}

  /// The search of a new experiment begins. The error of the first trial that can never run, if one is: then nothing of
  /// the experiment runs.
  [[nodiscard]] Result<void> begin(Experiment& experiment, TimePoint now);
  /// Of an experiment that was loaded: what was under way is continued.
  void restore(Experiment& experiment, TimePoint now);

  void pause(Experiment& experiment, TimePoint now);
  void activate(Experiment& experiment, TimePoint now);
  void stop(Experiment& experiment, Outcome outcome, const std::string& reason, TimePoint now);
  void stop(Experiment& experiment, Trial& trial, Outcome outcome, TimePoint now);
  /// Its program says how far it is.
  void report(Experiment& experiment, Trial& trial, std::optional<double> progress);
  void declare_invalid(Experiment& experiment, Trial& trial, TimePoint now);
  /// More trials, or another number at a time; the search of an experiment that is completed goes on.
  [[nodiscard]] Result<void> limit(Experiment& experiment, const search::Limited& limited, TimePoint now);
  /// What the program of a custom search has decided, having seen all events up to the number `answers`.
  [[nodiscard]] Result<void> order(Experiment& experiment, search::Ordered ordered, std::uint64_t answers,
                                   TimePoint now);
  /// A trial that has ended runs again, from its latest checkpoint.
  void resume(Experiment& experiment, Trial& trial, TimePoint now);

  /// A job has changed.
  void review(cluster::JobId job, TimePoint now);
  void validated(const ValidationRow& validation, TimePoint now);
  /// The output of a run that failed was searched for lines that log policies name.
  void searched(const OutputSearched& news, TimePoint now);
  /// The sampler has drawn the point that was asked for after this event.
  void drawn(ExperimentId id, std::uint64_t event, const search::Point& point, TimePoint now);

  /// Tries again to submit what could not be submitted.
  void tick(TimePoint now);

  /// For the bulk side, in their order.
  [[nodiscard]] std::vector<std::any> take_facts() { return std::exchange(facts_, {}); }
  /// Points that the sampler is to draw, for drawn().
  [[nodiscard]] std::vector<DrawOrder> take_draws();
  /// Output that is to be searched, for searched().
  [[nodiscard]] std::vector<SearchOutput> take_searches() { return std::exchange(searches_, {}); }
  /// Experiments that have become terminal.
  [[nodiscard]] std::vector<ExperimentId> take_ended() { return std::exchange(ended_, {}); }

 private:
  void tell(Experiment& experiment, search::Event event, TimePoint now);
  void tell_rest(Experiment& experiment, TimePoint now);
  void perform(Experiment& experiment, const std::vector<search::Action>& actions, TimePoint now);
  void perform(Experiment& experiment, const search::Action& action, TimePoint now);
  void create(Experiment& experiment, const search::Create& order, TimePoint now);
  void replace(Experiment& experiment, const search::Replace& order, TimePoint now);
  /// Submits a job for a trial that is to run; one that can never run ends. False: it may not now, and waits.
  bool submit(Experiment& experiment, Trial& trial, TimePoint now);
  void wait(Experiment& experiment, Trial& trial, const std::string& why, TimePoint now);
  void suspend(Experiment& experiment, Trial& trial, const TrialStop& stop, TimePoint now);
  /// Stops its job; if it has none, its end is judged at once.
  void halt(Experiment& experiment, Trial& trial, const TrialStop& stop, TimePoint now);
  void conclude(Experiment& experiment, Trial& trial, const GangEnd& end, TimePoint now);
  void decide(Experiment& experiment, Trial& trial, const TrialVerdict& verdict, TimePoint now);
  void finish(Experiment& experiment, Trial& trial, const TrialEnds& verdict, TimePoint now);
  /// Looks whether the experiment is over.
  void review(Experiment& experiment, TimePoint now);
  void update_share(Experiment& experiment, const Trial& trial, double before);

  Ledger& ledger_;
  JobControl& jobs_;
  std::vector<std::any> facts_;
  std::vector<ExperimentId> ended_;
  std::vector<ExperimentId> to_draw_;
  std::vector<SearchOutput> searches_;
  std::map<std::string, std::set<TrialId>> waiting_;  ///< by owner: trials that may not be submitted now
  std::optional<Error> refused_;                      ///< the last submission that was refused
  bool is_telling_ = false;
};

/// The job in which a trial runs.
[[nodiscard]] cluster::JobSpec job_of(const Experiment& experiment, const Trial& trial);

}  // namespace cadre::experiment
