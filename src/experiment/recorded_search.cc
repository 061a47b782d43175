#include "experiment/recorded_search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "base/check.h"
#include "base/overloaded.h"
#include "search/brackets.h"
#include "search/tpe.h"

namespace cadre::experiment {
namespace {

/// A snapshot is written after so many events, or as many as there are trials: then all snapshots together take no more
/// than some times the events.
constexpr std::uint64_t events_least = 100;

struct KeptReport {
  double time = 0;
  double metric = 0;
};
template <class V>
void describe(V& v, KeptReport& r) {
  v.required("time", r.time, "Time of the validation.");
  v.required("metric", r.metric, "Signed metric.");
}

struct KeptObservation {
  search::Point point;
  std::vector<KeptReport> reports;
  bool has_ended = false;
  bool has_failed = false;
};
template <class V>
void describe(V& v, KeptObservation& o) {
  v.required("point", o.point, "Hyperparameters of the trial.");
  v.field("reports", o.reports, "Its reports, as far as the sampler needs them.");
  v.field("has_ended", o.has_ended, "Whether it has ended.");
  v.field("has_failed", o.has_failed, "Whether it has failed.");
}

struct Kept {
  search::SearchState search;
  std::vector<KeptObservation> trials;
};
template <class V>
void describe(V& v, Kept& k) {
  v.required("search", k.search, "State of the search.");
  v.field("trials", k.trials, "Trials as the sampler sees them.");
}

std::vector<std::int64_t> rung_ends_of(const search::Searcher& searcher) {
  const auto of = [](const search::Halving& config, search::RungEnds ends) {
    std::set<std::int64_t> all;
    for (const search::Bracket& bracket : search::brackets_of(config, ends)) {
      all.insert(bracket.ends.begin(), bracket.ends.end());
    }
    return std::vector<std::int64_t>(all.begin(), all.end());
  };
  return std::visit(overloaded{[&](const search::Asha& one) { return of(one, search::RungEnds::at_length); },
                               [&](const search::AshaPromote& one) { return of(one, search::RungEnds::at_sum); },
                               [](const auto&) { return std::vector<std::int64_t>(); }},
                    searcher);
}

}  // namespace

const search::TpeSampler* model_of(const search::Searcher& searcher) {
  return std::visit(
      [](const auto& one) -> const search::TpeSampler* {
        if constexpr (requires { one.sampler; }) return std::get_if<search::TpeSampler>(&one.sampler);
        return nullptr;
      },
      searcher);
}

search::Point draw(const DrawOrder& order) {
  std::vector<search::Observation> trials;
  trials.reserve(order.trials.size());
  for (const auto& trial : order.trials) trials.push_back(*trial);
  return search::draw_by_tpe(order.sampler, order.space, trials, order.rung_ends, order.draw.seed, order.draw.given);
}

RecordedSearch::RecordedSearch(ExperimentId experiment, search::Search search)
    : experiment_(experiment), search_(std::move(search)) {
  if (model_of(search_.searcher()) != nullptr) rung_ends_ = rung_ends_of(search_.searcher());
}

RecordedSearch::RecordedSearch(ExperimentId experiment, const search::Searcher& searcher, const search::Space& space,
                               std::uint32_t seed)
    : RecordedSearch(experiment, search::Search(searcher, space, seed)) {
  first_snapshot_ = snapshot();
}

Result<RecordedSearch> RecordedSearch::load(const search::Searcher& searcher, const search::Space& space,
                                            const SearchRow& snapshot, std::vector<SearchEventRow> events) {
  const auto corrupt = [&](const std::string& what) {
    return fail(Errc::corrupt,
                "the search of experiment " + std::to_string(snapshot.experiment.value) + " cannot be read: " + what);
  };
  auto kept = describe::read_of_peer<Kept>(snapshot.state);
  if (!kept) return corrupt(describe::to_error(kept.error(), "its state").message);
  RecordedSearch made(snapshot.experiment, search::Search(searcher, space, std::move(kept->search)));
  made.number_ = snapshot.number;
  made.snapshot_ = snapshot.number;
  for (KeptObservation& one : kept->trials) {
    search::Observation trial{std::move(one.point), {}, one.has_ended, one.has_failed};
    for (const KeptReport& report : one.reports) trial.reports.emplace_back(report.time, report.metric);
    made.trials_.push_back(std::make_shared<const search::Observation>(std::move(trial)));
  }
  std::sort(events.begin(), events.end(),
            [](const SearchEventRow& a, const SearchEventRow& b) { return a.number < b.number; });
  for (const SearchEventRow& row : events) {
    if (row.number <= snapshot.number) continue;
    if (row.number != made.number_ + 1) return corrupt("event " + std::to_string(made.number_ + 1) + " is missing");
    auto event = describe::read_of_peer<SearchEvent>(row.event);
    if (!event) return corrupt("event " + std::to_string(row.number) + " is malformed");
    static_cast<void>(made.apply(*event));
  }
  made.new_events_.clear();  // they are written
  return made;
}

std::vector<search::Action> RecordedSearch::apply(const SearchEvent& event) {
  new_events_.push_back({experiment_, ++number_, describe::write(event)});
  observe(event);
  std::vector<search::Action> actions =
      std::visit(overloaded{[&](const SearchBegins&) { return search_.begin(); },
                            [&](const TrialReports& one) { return search_.report(one.trial, one.time, one.metric); },
                            [&](const TrialExits& one) { return search_.exit(one.trial, one.exit); },
                            [&](const PointDrawn& one) {
                              drawing_.reset();
                              return search_.drawn(one.point);
                            }},
                 event);
  note(actions);
  return actions;
}

search::Observation& RecordedSearch::change(search::TrialNumber trial) {
  // What is shared with an order does not change.
  auto copy = std::make_shared<search::Observation>(*trials_.at(trial));
  search::Observation& changed = *copy;
  trials_[trial] = std::move(copy);
  return changed;
}

/// Of the reports, those are kept that the sampler may look at: the first at each rung, and the last.
void RecordedSearch::observe(const SearchEvent& event) {
  if (model_of(search_.searcher()) == nullptr) return;
  if (const auto* report = std::get_if<TrialReports>(&event)) {
    const bool is_smaller = search::objective_of(search_.searcher()).smaller_is_better;
    const double is_signed = is_smaller ? report->metric : -report->metric;
    auto& reports = change(report->trial).reports;
    const auto rung = [&](double time) {
      return std::count_if(rung_ends_.begin(), rung_ends_.end(),
                           [&](std::int64_t end) { return static_cast<double>(end) <= time; });
    };
    const std::ptrdiff_t before = reports.size() < 2 ? 0 : rung(reports[reports.size() - 2].first);
    if (!reports.empty() && rung(reports.back().first) == before) reports.pop_back();
    reports.emplace_back(report->time,
                         std::isnan(report->metric) ? std::numeric_limits<double>::infinity() : is_signed);
  } else if (const auto* exit = std::get_if<TrialExits>(&event)) {
    search::Observation& trial = change(exit->trial);
    trial.has_ended = true;
    trial.has_failed = exit->exit != search::Exit::completed;
  }
}

void RecordedSearch::note(const std::vector<search::Action>& actions) {
  const search::TpeSampler* model = model_of(search_.searcher());
  if (model == nullptr) return;
  for (const search::Action& action : actions) {
    if (const auto* create = std::get_if<search::Create>(&action)) {
      CHECK(create->trial == trials_.size());
      trials_.push_back(
          std::make_shared<const search::Observation>(search::Observation{create->hyperparameters, {}, false, false}));
    } else if (const auto* replace = std::get_if<search::Replace>(&action)) {
      change(replace->trial).point = replace->hyperparameters;
    } else if (const auto* draw = std::get_if<search::Draw>(&action)) {
      drawing_ = DrawOrder{experiment_, number_, *draw, *model, search_.space(), trials_, rung_ends_};
    }
  }
}

SearchRow RecordedSearch::snapshot() const {
  Kept kept;
  kept.search = search_.state();
  for (const auto& trial : trials_) {
    KeptObservation& one = kept.trials.emplace_back();
    one.point = trial->point;
    one.has_ended = trial->has_ended;
    one.has_failed = trial->has_failed;
    for (const auto& [time, metric] : trial->reports) one.reports.push_back({time, metric});
  }
  return {experiment_, number_, describe::write(kept)};
}

RecordedSearch::Rows RecordedSearch::take_rows() {
  Rows rows;
  rows.events = std::exchange(new_events_, {});
  if (first_snapshot_) {
    rows.snapshot = std::exchange(first_snapshot_, std::nullopt);
    snapshot_ = rows.snapshot->number;
    return rows;
  }
  const std::uint64_t most = std::max<std::uint64_t>(events_least, search_.state().created);
  if (rows.events.empty() || drawing_ || number_ - *snapshot_ < most) return rows;
  rows.snapshot = snapshot();
  for (std::uint64_t number = *snapshot_ + 1; number <= number_ - rows.events.size(); ++number) {
    rows.outdated.push_back({experiment_, number, {}});
  }
  rows.events.clear();
  snapshot_ = number_;
  return rows;
}

}  // namespace cadre::experiment
