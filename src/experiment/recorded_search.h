/// A search whose events are recorded: it is rebuilt from a snapshot and the events since, and then decides the same.
/// Pure; one thread at a time.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "base/result.h"
#include "experiment/rows.h"
#include "search/observation.h"
#include "search/search.h"

namespace cadre::experiment {

/// A point that a sampler is to draw, and all that it needs to know: as it was after the event that made the point
/// wanted, also when that was before a restart. A value; safe on any thread.
struct DrawOrder {
  ExperimentId experiment;
  std::uint64_t event = 0;
  search::Draw draw;
  search::Searcher searcher;
  search::Space space;
  std::vector<std::shared_ptr<const search::Observation>> trials;  ///< shared, for they are many
};
/// The point: the same for the same order. It takes up to some tens of milliseconds.
[[nodiscard]] search::Point draw(const DrawOrder& order);

/// An event that the program of a custom search has yet to answer.
struct OpenEvent {
  std::uint64_t number = 0;
  describe::Value event;
};

class RecordedSearch {
 public:
  /// A new search; Begun is yet to be applied.
  RecordedSearch(ExperimentId experiment, const search::Searcher& searcher, const search::Space& space,
                 std::uint32_t seed);
  /// As it was after the last of these events. `corrupt` if the rows do not belong together.
  [[nodiscard]] static Result<RecordedSearch> load(const search::Searcher& searcher, const search::Space& space,
                                                   const SearchRow& snapshot, std::vector<SearchEventRow> events);

  /// Records the event and gives what follows from it. One that is impossible is refused, and changes nothing. With
  /// `answers`, it is what the program of a custom search says to all events up to that number.
  [[nodiscard]] Result<std::vector<search::Action>> apply(const search::Event& event, std::uint64_t answers = 0);

  /// The point that is to be drawn now, if one is: the answer is the event Drawn.
  [[nodiscard]] const std::optional<DrawOrder>& drawing() const { return drawing_; }
  /// Of a custom search: what its program has to answer, in order.
  [[nodiscard]] const std::deque<OpenEvent>& open() const { return open_; }
  [[nodiscard]] std::uint64_t answered() const { return answered_; }

  [[nodiscard]] const search::Search& search() const { return search_; }
  [[nodiscard]] std::uint64_t last_event() const { return number_; }
  /// Events before it are in the snapshot.
  [[nodiscard]] std::uint64_t first_kept_event() const { return snapshot_.value_or(0) + 1; }

  /// What is to be written: events since the last call, or instead of them a snapshot once these are many; then older
  /// events are to be removed. There is no snapshot while something is drawn or to be answered.
  struct Rows {
    std::vector<SearchEventRow> events;
    std::optional<SearchRow> snapshot;
    std::vector<SearchEventRow> outdated;
  };
  [[nodiscard]] Rows take_rows();

 private:
  RecordedSearch(ExperimentId experiment, search::Search search);
  void observe(const search::Event& event);
  void note(const std::vector<search::Action>& actions);
  void open(const search::Event& event);
  [[nodiscard]] SearchRow snapshot() const;
  search::Observation& change(search::TrialNumber trial);

  ExperimentId experiment_;
  search::Search search_;
  bool has_model_ = false;                   ///< the sampler is fitted to results
  std::uint64_t number_ = 0;                 ///< of the last event
  std::optional<std::uint64_t> snapshot_;    ///< the same of the last snapshot that was handed out
  std::optional<SearchRow> first_snapshot_;  ///< of a new search: before its first event
  std::optional<DrawOrder> drawing_;
  std::vector<std::shared_ptr<const search::Observation>> trials_;  ///< if it has a model
  std::vector<std::int64_t> rung_ends_;                             ///< the same
  std::deque<OpenEvent> open_;
  std::uint64_t answered_ = 0;
  std::vector<SearchEventRow> new_events_;
};

}  // namespace cadre::experiment
