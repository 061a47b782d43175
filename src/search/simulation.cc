#include "search/simulation.h"

#include <algorithm>
#include <deque>
#include <set>

#include "base/overloaded.h"

namespace cadre::search {
namespace {

/// Times at which a trial reports if no other are asked for, and the last at which it ends by itself.
std::vector<std::int64_t> report_times(const Searcher& searcher, std::int64_t length) {
  std::set<std::int64_t> times;
  const auto add_rungs = [&](const Halving& config, RungEnds ends) {
    for (const Bracket& bracket : brackets_of(config, ends)) times.insert(bracket.ends.begin(), bracket.ends.end());
  };
  std::visit(overloaded{[&](const Asha& one) { add_rungs(one, RungEnds::at_length); },
                        [&](const AshaPromote& one) { add_rungs(one, RungEnds::at_sum); },
                        [&](const Pbt& one) {
                          for (std::int64_t time = one.interval; time <= length; time += one.interval)
                            times.insert(time);
                        },
                        [&](const auto&) { times.insert(std::max<std::int64_t>(length, 1)); }},
             searcher);
  if (times.empty()) times.insert(std::max<std::int64_t>(length, 1));
  return {times.begin(), times.end()};
}

class Simulation {
 public:
  Simulation(Search& search, const SimulationConfig& config, const MetricOf& metric_of, const DrawPoint& draw_point)
      : search_(search),
        config_(config),
        metric_of_(metric_of),
        draw_point_(draw_point),
        times_(report_times(search.searcher(), config.length)) {
    if (config.every == 0) return;
    const std::int64_t last = times_.back();
    times_.clear();
    for (std::int64_t time = config.every; time < last; time += config.every) times_.push_back(time);
    times_.push_back(last);
  }

  std::vector<SimulatedTrial> run() {
    perform(search_.begin());
    while (!running_.empty()) {
      const TrialNumber trial = running_.front();
      running_.pop_front();
      step(trial);
    }
    return std::move(trials_);
  }

 private:
  struct Track {
    std::size_t next = 0;  ///< index of its next time
    bool is_running = true;
    bool is_ended = false;
  };

  /// One report of a trial.
  void step(TrialNumber number) {
    Track& track = tracks_[number];
    track.is_running = false;
    if (track.is_ended) return;
    const std::int64_t time = times_[track.next++];
    SimulatedTrial& trial = trials_[number];
    const double metric = metric_of_({number, trial.hyperparameters, time, trial.reports});
    trial.stopped_at = time;
    ++trial.reports;
    const bool is_smaller = objective_of(search_.searcher()).smaller_is_better;
    observations_[number].reports.emplace_back(static_cast<double>(time), is_smaller ? metric : -metric);
    perform(search_.report(number, static_cast<double>(time), metric));
    const Track& after = tracks_[number];
    if (!after.is_ended && after.next == times_.size()) return end(number, Exit::completed);
    if (!after.is_ended && !is_suspended_.contains(number)) resume(number);
  }

  void end(TrialNumber number, Exit exit) {
    tracks_[number].is_ended = true;
    observations_[number].has_ended = true;
    perform(search_.exit(number, exit));
  }

  void resume(TrialNumber number) {
    if (tracks_[number].is_running) return;
    tracks_[number].is_running = true;
    if (config_.order == TrialOrder::sequential) {
      running_.push_front(number);
    } else {
      running_.push_back(number);
    }
  }

  void perform(const std::vector<Action>& actions) {
    for (const Action& action : actions) {
      std::visit(overloaded{[&](const Create& one) {
                              tracks_.emplace_back();
                              trials_.push_back({one.trial, one.hyperparameters, 0, 0});
                              observations_.push_back({one.hyperparameters, {}, false});
                              running_.push_back(one.trial);
                            },
                            [&](const StopTrial& one) {
                              is_suspended_.erase(one.trial);
                              end(one.trial, Exit::completed);
                            },
                            [&](const SuspendTrial& one) { is_suspended_.insert(one.trial); },
                            [&](const ExtendTrial& one) {
                              if (is_suspended_.erase(one.trial) > 0) resume(one.trial);
                            },
                            [&](const Replace& one) {
                              trials_[one.trial].hyperparameters = one.hyperparameters;
                              observations_[one.trial].point = one.hyperparameters;
                            },
                            [&](const Draw& one) { perform(search_.drawn(draw_point_(one, observations_))); }},
                 action);
    }
  }

  Search& search_;
  const SimulationConfig& config_;
  const MetricOf& metric_of_;
  const DrawPoint& draw_point_;
  std::vector<std::int64_t> times_;
  std::vector<Track> tracks_;
  std::vector<SimulatedTrial> trials_;
  std::vector<Observation> observations_;
  std::deque<TrialNumber> running_;
  std::set<TrialNumber> is_suspended_;
};

}  // namespace

std::vector<SimulatedTrial> simulate(Search& search, const SimulationConfig& config, const MetricOf& metric_of,
                                     const DrawPoint& draw_point) {
  return Simulation(search, config, metric_of, draw_point).run();
}

}  // namespace cadre::search
