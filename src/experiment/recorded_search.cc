#include "experiment/recorded_search.h"

#include <algorithm>
#include <cmath>
#include <limits>
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
  v.field("has_ended", o.has_ended, "Whether it has ended or is suspended.");
  v.field("has_failed", o.has_failed, "Whether it has failed.");
}

struct Kept {
  search::SearchState search;
  std::vector<KeptObservation> trials;
  std::uint64_t answered = 0;
};
template <class V>
void describe(V& v, Kept& k) {
  v.required("search", k.search, "State of the search.");
  v.field("trials", k.trials, "Trials as the sampler sees them.");
  v.field("answered", k.answered, "Last event that the program of a custom search has answered.");
}

bool has_model(const search::Searcher& searcher) {
  return std::visit(
      [](const auto& one) {
        if constexpr (requires { one.sampler; }) return std::holds_alternative<search::TpeSampler>(one.sampler);
        return false;
      },
      searcher);
}

/// Beside the event itself, in its row.
constexpr const char* answers_key = "answers";

}  // namespace

search::Point draw(const DrawOrder& order) {
  return search::draw_point(order.searcher, order.space, order.draw, order.trials);
}

RecordedSearch::RecordedSearch(ExperimentId experiment, search::Search search)
    : experiment_(experiment), search_(std::move(search)), has_model_(has_model(search_.searcher())) {
  if (has_model_) rung_ends_ = search::rung_ends(search_.searcher());
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
  made.answered_ = kept->answered;
  for (KeptObservation& one : kept->trials) {
    search::Observation trial{std::move(one.point), {}, one.has_ended, one.has_failed};
    for (const KeptReport& report : one.reports) trial.reports.emplace_back(report.time, report.metric);
    made.trials_.push_back(std::make_shared<const search::Observation>(std::move(trial)));
  }
  std::sort(events.begin(), events.end(),
            [](const SearchEventRow& a, const SearchEventRow& b) { return a.number < b.number; });
  for (const SearchEventRow& row : events) {
    if (row.number <= snapshot.number) continue;
    const std::string number = std::to_string(row.number);
    if (row.number != made.number_ + 1) return corrupt("an event before event " + number + " is missing");
    auto event = describe::read_of_peer<search::Event>(row.event);
    if (!event) return corrupt("event " + number + " is malformed");
    const describe::Value* answers = row.event.find(answers_key);
    const auto* count = answers == nullptr ? nullptr : answers->as<std::int64_t>();
    const auto applied = made.apply(*event, count == nullptr ? 0 : static_cast<std::uint64_t>(*count));
    if (!applied) return corrupt("event " + number + ": " + applied.error().message);
  }
  made.new_events_.clear();  // they are written
  return made;
}

Result<std::vector<search::Action>> RecordedSearch::apply(const search::Event& event, std::uint64_t answers) {
  TRY_ASSIGN(actions, search_.apply(event));
  describe::Value row = describe::write(event);
  if (answers > 0) row.set(answers_key, describe::Value(answers));
  new_events_.push_back({experiment_, ++number_, std::move(row)});
  if (std::holds_alternative<search::Drawn>(event)) drawing_.reset();
  observe(event);
  note(actions);
  if (std::holds_alternative<search::Custom>(search_.searcher())) open(event);
  answered_ = std::max(answered_, answers);
  while (!open_.empty() && open_.front().number <= answered_) open_.pop_front();
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
void RecordedSearch::observe(const search::Event& event) {
  if (!has_model_) return;
  if (const auto* report = std::get_if<search::Reported>(&event)) {
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
  } else if (const auto* ended = std::get_if<search::Ended>(&event)) {
    search::Observation& trial = change(ended->trial);
    trial.has_ended = true;
    trial.has_failed = ended->exit != search::Exit::completed;
  }
}

void RecordedSearch::note(const std::vector<search::Action>& actions) {
  if (!has_model_) return;
  for (const search::Action& action : actions) {
    std::visit(overloaded{[&](const search::Create& one) {
                            CHECK(one.trial == trials_.size());
                            trials_.push_back(std::make_shared<const search::Observation>(
                                search::Observation{one.hyperparameters, {}, false, false}));
                          },
                          [&](const search::Replace& one) { change(one.trial).point = one.hyperparameters; },
                          [&](const search::SuspendTrial& one) { change(one.trial).has_ended = true; },
                          [&](const search::ExtendTrial& one) { change(one.trial).has_ended = false; },
                          [&](const search::StopTrial&) {},
                          [&](const search::Draw& one) {
                            drawing_ =
                                DrawOrder{experiment_, number_, one, search_.searcher(), search_.space(), trials_};
                          }},
               action);
  }
}

void RecordedSearch::open(const search::Event& event) {
  const bool concerns_program = std::holds_alternative<search::Begun>(event) ||
                                std::holds_alternative<search::Reported>(event) ||
                                std::holds_alternative<search::Ended>(event);
  if (concerns_program) open_.push_back({number_, describe::write(event)});
}

SearchRow RecordedSearch::snapshot() const {
  Kept kept;
  kept.search = search_.state();
  kept.answered = answered_;
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
  if (rows.events.empty() || drawing_ || !open_.empty() || number_ - *snapshot_ < most) return rows;
  rows.snapshot = snapshot();
  for (std::uint64_t number = *snapshot_ + 1; number <= number_ - rows.events.size(); ++number) {
    rows.outdated.push_back({experiment_, number, {}});
  }
  rows.events.clear();
  snapshot_ = number_;
  return rows;
}

}  // namespace cadre::experiment
