#include "search/simulation.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <set>

#include "base/overloaded.h"
#include "search/tpe.h"

namespace cadre::search {
namespace {

/// When the trials of a simulation report: every so often and at the end, or at given times.
class Schedule {
 public:
  Schedule(const Search& search, const SimulationConfig& config) : search_(search) {
    every_ = config.every;
    length_ = config.length;
    if (const auto* pbt = std::get_if<Pbt>(&search.searcher()); pbt != nullptr && every_ == 0) every_ = pbt->interval;
    if (length_ == 0) length_ = std::max<std::int64_t>(every_, 1);
  }

  [[nodiscard]] std::int64_t end(TrialNumber trial) const {
    const auto* rungs = search_.rung_ends_of(trial);
    return rungs != nullptr ? rungs->back() : length_;
  }

  /// The first time after this one.
  [[nodiscard]] std::int64_t next(TrialNumber trial, std::int64_t time) const {
    const std::int64_t last = end(trial);
    if (every_ > 0) return last - time <= every_ ? last : (time / every_ + 1) * every_;
    const auto* rungs = search_.rung_ends_of(trial);
    if (rungs == nullptr) return last;
    const auto next = std::upper_bound(rungs->begin(), rungs->end(), time);
    return next == rungs->end() ? last : *next;
  }

  /// Of a trial that runs to its end.
  [[nodiscard]] std::int64_t most_reports() const {
    const std::vector<std::int64_t> rungs = rung_ends(search_.searcher());
    const std::int64_t last = rungs.empty() ? length_ : rungs.back();
    if (every_ > 0) return last / every_ + 1;
    return std::max<std::int64_t>(static_cast<std::int64_t>(rungs.size()), 1);
  }

 private:
  const Search& search_;
  std::int64_t every_ = 0;
  std::int64_t length_ = 0;
};

/// The running trials, in the order in which they report.
class Running {
 public:
  explicit Running(TrialOrder order) : order_(order) {}

  [[nodiscard]] bool empty() const { return queue_.empty() && set_.empty(); }
  void add(TrialNumber trial) {
    if (order_ == TrialOrder::sequential) {
      set_.insert(trial);
    } else {
      queue_.push_back(trial);
    }
  }
  TrialNumber take() {
    if (order_ == TrialOrder::sequential) return set_.extract(set_.begin()).value();
    const TrialNumber trial = queue_.front();
    queue_.pop_front();
    return trial;
  }

 private:
  TrialOrder order_;
  std::deque<TrialNumber> queue_;
  std::set<TrialNumber> set_;  ///< the first that was created runs first
};

class Simulation {
 public:
  Simulation(Search& search, const SimulationConfig& config, const MetricOf& metric_of)
      : search_(search), metric_of_(metric_of), schedule_(search, config), running_(config.order) {}

  Result<std::vector<SimulatedTrial>> run() {
    perform(search_.begin());
    while (!running_.empty()) TRY(step(running_.take()));
    return std::move(trials_);
  }

 private:
  enum class State : std::uint8_t { running, suspended, ended };

  /// One report of a trial.
  Result<void> step(TrialNumber number) {
    if (states_[number] == State::ended) return {};
    SimulatedTrial& trial = trials_[number];
    const std::int64_t time = schedule_.next(number, times_[number]);
    TRY_ASSIGN(metric, metric_of_({number, seeds_[number], trial.hyperparameters, time, trial.reports}));
    times_[number] = trial.stopped_at = time;
    ++trial.reports;
    if (++reports_ > most_simulated_reports) {  // a population that copies members that are behind may not end
      return fail(Errc::invalid, "the search has not ended after " + std::to_string(most_simulated_reports) +
                                     " reports; use a shorter length or a longer interval");
    }
    const bool is_smaller = objective_of(search_.searcher()).smaller_is_better;
    const bool is_better =
        !trial.best_metric || (is_smaller ? metric < *trial.best_metric : metric > *trial.best_metric);
    if (is_better && !std::isnan(metric)) trial.best_metric = metric;
    observations_[number].reports.emplace_back(static_cast<double>(time), is_smaller ? metric : -metric);
    perform(search_.report(number, static_cast<double>(time), metric));
    if (states_[number] != State::running) return {};
    if (times_[number] == schedule_.end(number)) {
      perform(end(number));
    } else {
      running_.add(number);
    }
    return {};
  }

  std::vector<Action> end(TrialNumber number) {
    states_[number] = State::ended;
    observations_[number].has_ended = true;
    return search_.exit(number, Exit::completed);
  }

  void perform(std::vector<Action> actions) {
    std::deque<Action> left(std::make_move_iterator(actions.begin()), std::make_move_iterator(actions.end()));
    while (!left.empty()) {
      const Action action = std::move(left.front());
      left.pop_front();
      for (Action& more : perform(action)) left.push_back(std::move(more));
    }
  }

  std::vector<Action> perform(const Action& action) {
    return std::visit(
        overloaded{[&](const Create& one) {
                     states_.push_back(State::running);
                     times_.push_back(0);
                     seeds_.push_back(one.seed);
                     trials_.push_back({one.trial, one.hyperparameters, 0, 0, {}});
                     observations_.push_back({one.hyperparameters, {}});
                     running_.add(one.trial);
                     return std::vector<Action>();
                   },
                   [&](const StopTrial& one) {
                     return states_[one.trial] == State::ended ? std::vector<Action>() : end(one.trial);
                   },
                   [&](const SuspendTrial& one) {
                     states_[one.trial] = State::suspended;
                     observations_[one.trial].has_ended = true;
                     return std::vector<Action>();
                   },
                   [&](const ExtendTrial& one) {
                     if (states_[one.trial] != State::suspended) return std::vector<Action>();
                     states_[one.trial] = State::running;
                     observations_[one.trial].has_ended = false;
                     running_.add(one.trial);
                     return std::vector<Action>();
                   },
                   [&](const Replace& one) {
                     trials_[one.trial].hyperparameters = one.hyperparameters;
                     times_[one.trial] = times_[one.source];
                     observations_[one.trial] = {one.hyperparameters, {}};
                     return std::vector<Action>();
                   },
                   [&](const Draw& one) {
                     return search_.drawn(draw_point(search_.searcher(), search_.space(), one, observations_));
                   }},
        action);
  }

  Search& search_;
  const MetricOf& metric_of_;
  Schedule schedule_;
  Running running_;
  std::int64_t reports_ = 0;
  std::vector<State> states_;        ///< these, by trial
  std::vector<std::int64_t> times_;  ///< up to which it has trained
  std::vector<std::uint32_t> seeds_;
  std::vector<SimulatedTrial> trials_;
  std::vector<Observation> observations_;
};

}  // namespace

Result<std::vector<SimulatedTrial>> simulate(Search& search, const SimulationConfig& config,
                                             const MetricOf& metric_of) {
  if (std::holds_alternative<Custom>(search.searcher())) {
    return fail(Errc::invalid, "a custom search is decided by its program, which is not simulated");
  }
  if (std::holds_alternative<Pbt>(search.searcher()) && config.length == 0) {
    return fail(Errc::invalid, "the trials of pbt have no end without a length; set length in the file");
  }
  const std::int64_t most = Schedule(search, config).most_reports();
  if (most > most_simulated_reports / search.most_trials()) {
    return fail(Errc::invalid, "up to " + std::to_string(search.most_trials()) + " trials with " +
                                   std::to_string(most) + " reports each are too many to simulate; raise --every");
  }
  return Simulation(search, config, metric_of).run();
}

}  // namespace cadre::search
