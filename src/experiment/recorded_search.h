/// A search whose events are recorded: it is rebuilt from a snapshot and the events since, and then decides the same.
/// Pure; one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "experiment/rows.h"
#include "search/observation.h"
#include "search/search.h"

namespace cadre::experiment {

// Events.

struct SearchBegins {
  static constexpr std::string_view type_name = "begin";
};
template <class V>
void describe(V&, SearchBegins&) {}

struct TrialReports {
  static constexpr std::string_view type_name = "report";
  search::TrialNumber trial = 0;
  double time = 0;
  double metric = 0;
};
template <class V>
void describe(V& v, TrialReports& e) {
  v.required("trial", e.trial, search::trial_doc);
  v.required("time", e.time, "Time of the validation.");
  v.required("metric", e.metric, "Metric as reported.");
}

struct TrialExits {
  static constexpr std::string_view type_name = "exit";
  search::TrialNumber trial = 0;
  search::Exit exit = search::Exit::completed;
};
template <class V>
void describe(V& v, TrialExits& e) {
  v.required("trial", e.trial, search::trial_doc);
  v.required("exit", e.exit, "How it ended.");
}

struct PointDrawn {
  static constexpr std::string_view type_name = "drawn";
  search::Point point;
};
template <class V>
void describe(V& v, PointDrawn& e) {
  v.required("point", e.point, "Hyperparameters that the sampler has drawn.");
}

using SearchEvent = std::variant<SearchBegins, TrialReports, TrialExits, PointDrawn>;

/// What a sampler that is fitted to results needs to know to draw a point: all of it as it was after the event that
/// made the point wanted, also when that was before a restart. A value; safe on any thread.
struct DrawOrder {
  ExperimentId experiment;
  std::uint64_t event = 0;
  search::Draw draw;
  search::TpeSampler sampler;
  search::Space space;
  std::vector<std::shared_ptr<const search::Observation>> trials;  ///< shared, for they are many
  std::vector<std::int64_t> rung_ends;
};
/// The point: the same for the same order. It takes up to some tens of milliseconds.
[[nodiscard]] search::Point draw(const DrawOrder& order);

class RecordedSearch {
 public:
  /// A new search; `begin` is yet to be applied.
  RecordedSearch(ExperimentId experiment, const search::Searcher& searcher, const search::Space& space,
                 std::uint32_t seed);
  /// As it was after the last of these events. `corrupt` if the rows do not belong together.
  [[nodiscard]] static Result<RecordedSearch> load(const search::Searcher& searcher, const search::Space& space,
                                                   const SearchRow& snapshot, std::vector<SearchEventRow> events);

  /// Records the event and gives what follows from it.
  [[nodiscard]] std::vector<search::Action> apply(const SearchEvent& event);

  /// The point that is to be drawn now, if one is: the answer is the event PointDrawn.
  [[nodiscard]] const std::optional<DrawOrder>& drawing() const { return drawing_; }

  [[nodiscard]] const search::Search& search() const { return search_; }
  [[nodiscard]] std::uint64_t last_event() const { return number_; }
  /// Events before it are in the snapshot.
  [[nodiscard]] std::uint64_t first_kept_event() const { return snapshot_.value_or(0) + 1; }

  /// What is to be written: events since the last call, or instead of them a snapshot once these are many; then older
  /// events are to be removed. There is no snapshot while a point is drawn.
  struct Rows {
    std::vector<SearchEventRow> events;
    std::optional<SearchRow> snapshot;
    std::vector<SearchEventRow> outdated;
  };
  [[nodiscard]] Rows take_rows();

 private:
  RecordedSearch(ExperimentId experiment, search::Search search);
  void observe(const SearchEvent& event);
  void note(const std::vector<search::Action>& actions);
  [[nodiscard]] SearchRow snapshot() const;
  search::Observation& change(search::TrialNumber trial);

  ExperimentId experiment_;
  search::Search search_;
  std::uint64_t number_ = 0;                 ///< of the last event
  std::optional<std::uint64_t> snapshot_;    ///< the same of the last snapshot that was handed out
  std::optional<SearchRow> first_snapshot_;  ///< of a new search: before its first event
  std::optional<DrawOrder> drawing_;
  std::vector<std::shared_ptr<const search::Observation>> trials_;  ///< if the sampler is fitted to results
  std::vector<std::int64_t> rung_ends_;
  std::vector<SearchEventRow> new_events_;
};

/// The sampler that is fitted to results, if the searcher has one.
[[nodiscard]] const search::TpeSampler* model_of(const search::Searcher& searcher);

}  // namespace cadre::experiment
