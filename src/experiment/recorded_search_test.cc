// Searches that are rebuilt from rows, also from those of an older version.
#include "experiment/recorded_search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "describe/describe.h"

namespace cadre::experiment {
namespace {

using testing::HasSubstr;

struct GoldenEvent {
  std::uint64_t number = 0;
  describe::Value event;
};
template <class V>
void describe(V& v, GoldenEvent& e) {
  v.required("number", e.number, "Number of the event.");
  v.required("event", e.event, "The event.");
}

struct GoldenSearch {
  std::string file;
  std::uint64_t number = 0;
  describe::Value state;
  std::vector<GoldenEvent> events;
  std::string next;

  SearchRow snapshot() const { return {{1}, number, state}; }
  std::vector<SearchEventRow> rows() const {
    std::vector<SearchEventRow> rows;
    for (const GoldenEvent& event : events) rows.push_back({{1}, event.number, event.event});
    return rows;
  }
};
template <class V>
void describe(V& v, GoldenSearch& g) {
  v.required("file", g.file, "Experiment file.");
  v.required("number", g.number, "Number of the snapshot.");
  v.required("state", g.state, "State in the snapshot.");
  v.required("events", g.events, "Events since.");
  v.required("next", g.next, "What follows from one more event.");
}

const std::string file = R"(
name: golden
entrypoint: [train]
hyperparameters: {x: {type: double, min: 0, max: 1}, kind: {type: categorical, values: [a, b]}}
searcher: {type: asha, metric: loss, max_trials: 9, max_time: 9, divisor: 3, max_rungs: 3, max_concurrent_trials: 3,
           sampler: {type: tpe, startup: 2}}
)";

Checked checked(const std::string& text) { return read_config(describe::parse_yaml(text).value()).value(); }

/// Applies an event, draws what is to be drawn, and gives all actions as text.
std::string tell(RecordedSearch& search, const search::Event& event) {
  std::string text;
  const auto apply = [&](const search::Event& one) {
    const std::vector<search::Action> actions = search.apply(one).value();
    for (const search::Action& action : actions) text += describe::write_json(action) + "\n";
  };
  apply(event);
  while (search.drawing()) apply(search::Drawn{draw(*search.drawing())});
  return text;
}

/// The rows that a search has left after some events.
GoldenSearch make_golden() {
  GoldenSearch golden{file, 0, {}, {}, ""};
  const Checked config = checked(file);
  RecordedSearch search({1}, config.config.searcher, config.space, 17);
  const auto keep = [&] {
    RecordedSearch::Rows rows = search.take_rows();
    if (rows.snapshot) {
      golden.number = rows.snapshot->number;
      golden.state = rows.snapshot->state;
    }
    for (const SearchEventRow& row : rows.events) golden.events.push_back({row.number, row.event});
    for (const SearchEventRow& gone : rows.outdated) {
      std::erase_if(golden.events, [&](const GoldenEvent& event) { return event.number == gone.number; });
    }
  };
  tell(search, search::Begun{});
  for (int round = 0; round < 40; ++round) {  // beyond the second snapshot
    for (search::TrialNumber trial = 0; trial < 3; ++trial) tell(search, search::Reported{trial, 0.5, 0.1 * trial});
    keep();
  }
  tell(search, search::Reported{0, 1, 0.5});
  tell(search, search::Reported{1, 1, 0.25});
  tell(search, search::Ended{1, search::Exit::completed});
  keep();
  EXPECT_GT(golden.number, 0);
  golden.next = tell(search, search::Reported{2, 1, 0.75});
  return golden;
}

TEST(RecordedSearch, ContinuesFromTheRowsOfThisVersionAndOfOlderOnes) {
  const std::string path = std::string(CADRE_SOURCE_DIR) + "/tests/golden/experiment/search-0.2.json";
  if (std::getenv("CADRE_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(path) << describe::write_json(make_golden(), describe::Indent::two_spaces) << "\n";
  }
  std::ifstream stream(path);
  std::ostringstream text;
  text << stream.rdbuf();
  const auto golden = describe::read_json_of_peer<GoldenSearch>(text.str());
  ASSERT_TRUE(golden.has_value()) << path;
  const Checked config = checked(golden->file);
  Result<RecordedSearch> search =
      RecordedSearch::load(config.config.searcher, config.space, golden->snapshot(), golden->rows());
  ASSERT_TRUE(search.has_value()) << search.error().message;
  EXPECT_EQ(tell(*search, search::Reported{2, 1, 0.75}), golden->next);
}

TEST(RecordedSearch, RefusesRowsThatDoNotBelongTogether) {
  const GoldenSearch golden = make_golden();
  const Checked config = checked(file);
  std::vector<SearchEventRow> holes = golden.rows();
  ASSERT_GE(holes.size(), 2);
  holes.erase(holes.begin());
  const auto load = [&](const SearchRow& snapshot, const std::vector<SearchEventRow>& events) {
    const Result<RecordedSearch> search = RecordedSearch::load(config.config.searcher, config.space, snapshot, events);
    return search ? std::string("read") : search.error().message;
  };
  EXPECT_THAT(load(golden.snapshot(), holes), HasSubstr("is missing"));
  SearchRow broken = golden.snapshot();
  broken.state = describe::Value("nonsense");
  EXPECT_THAT(load(broken, {}), HasSubstr("cannot be read"));
  std::vector<SearchEventRow> impossible = golden.rows();
  impossible.back().event = describe::write(search::Event(search::Reported{99, 1, 1}));
  EXPECT_THAT(load(golden.snapshot(), impossible), HasSubstr("there is no trial 99"));
}

TEST(RecordedSearch, RefusesAnImpossibleEventAndStaysAsItWas) {
  const Checked config = checked(file);
  RecordedSearch search({1}, config.config.searcher, config.space, 17);
  tell(search, search::Begun{});
  const std::uint64_t before = search.last_event();
  EXPECT_FALSE(search.apply(search::Reported{50, 1, 1}).has_value());
  EXPECT_EQ(search.last_event(), before);
}

}  // namespace
}  // namespace cadre::experiment
