// Random reports, merges and rollbacks, compared with a map of what must be visible.
#include "experiment/metrics/tree.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <limits>
#include <map>

#include "base/seeds.h"
#include "experiment/metrics/curve.h"
#include "experiment/metrics/runs.h"
#include "experiment/metrics/store_for_tests.h"

namespace cadre::experiment::metrics {
namespace {

constexpr NameNumber names = 4;
constexpr NameNumber rare = 3;  ///< the name that few reports have

/// The rule in its simplest form: all reports of all runs, and which are hidden is found out by looking at all others.
class Model {
 public:
  void put(std::uint64_t run, const Report& report) {
    Report& stored = reports_[{run, report.steps}];
    stored.steps = report.steps;
    merge(stored, report);
  }
  std::vector<RunReport> visible() const {
    std::map<std::int64_t, RunReport> by_steps;
    for (const auto& [key, report] : reports_) {
      const auto hides = [&](const auto& other) {
        return other.first.first > key.first && other.first.second <= key.second;
      };
      if (std::none_of(reports_.begin(), reports_.end(), hides)) by_steps[key.second] = {key.first, report};
    }
    std::vector<RunReport> all;
    for (auto& [steps, report] : by_steps) all.push_back(std::move(report));
    return all;
  }

 private:
  std::map<std::pair<std::uint64_t, std::int64_t>, Report> reports_;
};

/// One group of a trial as it is stored.
class Stored {
 public:
  explicit Stored(const TreeShape& shape) : shape_(shape) {}

  void put(std::uint64_t number, const Report& report) {
    if (!tree_ || run_ != number) {
      save();
      tree_.emplace(TreeId{number}, shape_);
      run_ = number;
    }
    for (const RunSpan& run : runs_.report(number, report.steps, TreeId{number})) all_[run.number] = run;
    ASSERT_TRUE(tree_->put(nodes, report));
  }
  void save() {
    if (!tree_) return;
    nodes.put(tree_->take_changes(nodes).value());
    runs_.find(run_)->levels = tree_->levels();
    all_[run_].levels = tree_->levels();
  }
  /// As after a restart.
  void load() {
    save();
    std::vector<RunSpan> runs;
    for (const auto& [number, run] : all_) runs.push_back(run);
    runs_ = Runs(std::move(runs));
    if (tree_) tree_ = RunTree::load(nodes, TreeId{run_}, tree_->levels(), shape_).value();
  }
  Source source() {
    save();
    return {nodes, runs_.visible(), shape_};
  }
  const Runs& runs() const { return runs_; }

  MemoryNodes nodes;

 private:
  TreeShape shape_;
  Runs runs_;
  std::map<std::uint64_t, RunSpan> all_;
  std::optional<RunTree> tree_;
  std::uint64_t run_ = 0;
};

MetricValue random_value(Dice& dice) {
  switch (dice.below(20)) {
    case 0: return std::numeric_limits<double>::quiet_NaN();
    case 1:
      return dice.percent(50) ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity();
    case 2: return std::string("text");
    case 3: return dice.percent(50);
    case 4: return dice.between(-1'000, 1'000);
    default: return static_cast<double>(dice.between(-1'000'000, 1'000'000)) / 1'000;
  }
}

Report any_report(Dice& dice, std::int64_t steps) {
  Report report{steps, 0, {}};
  for (NameNumber name = 0; name < names; ++name) {
    if (dice.percent(name == rare ? 3 : 60)) report.values.push_back({name, random_value(dice)});
  }
  return report;
}

std::map<NameNumber, std::vector<std::pair<std::int64_t, MetricValue>>> columns_of(
    const std::vector<RunReport>& visible) {
  std::map<NameNumber, std::vector<std::pair<std::int64_t, MetricValue>>> columns;
  for (const RunReport& one : visible) {
    for (const NumberedValue& value : one.report.values) {
      columns[value.name].emplace_back(one.report.steps, value.value);
    }
  }
  return columns;
}

void expect_aggregate(const Aggregate& read, const Aggregate& wanted) {
  EXPECT_EQ(read.values, wanted.values);
  EXPECT_EQ(read.finite, wanted.finite);
  EXPECT_EQ(read.not_finite, wanted.not_finite);
  EXPECT_EQ(read.smallest(), wanted.smallest());
  EXPECT_EQ(read.largest(), wanted.largest());
  EXPECT_EQ(read.first, wanted.first);
  EXPECT_EQ(read.last, wanted.last);
  if (wanted.finite > 0) {
    EXPECT_NEAR(read.mean(), wanted.mean(), 1e-6);
  }
}

void check_states(Stored& stored, const std::vector<RunReport>& visible) {
  const std::vector<MetricState> states = read_states(stored.source()).value();
  const auto columns = columns_of(visible);
  ASSERT_EQ(states.size(), columns.size());
  for (const MetricState& state : states) {
    Aggregate wanted;
    const auto& column = columns.at(state.name);
    for (const auto& [steps, value] : column) wanted.add(steps, value);
    expect_aggregate(state.aggregate, wanted);
    EXPECT_TRUE(is_same(state.last, column.back().second));
  }
}

void check_reports(Dice& dice, Stored& stored, const std::vector<RunReport>& visible) {
  std::vector<RunReport> read;
  for (std::int64_t from = 0;;) {
    const auto most = static_cast<std::size_t>(dice.magnitude(1, 200));
    const ReportPage page = read_reports(stored.source(), from, most, ByteSize{dice.magnitude(1, 10'000)}).value();
    ASSERT_LE(page.reports.size(), most);
    for (const RunReport& one : page.reports) read.push_back(one);
    if (!page.has_more) break;
    ASSERT_FALSE(page.reports.empty());
    from = read.back().report.steps + 1;
  }
  ASSERT_EQ(read.size(), visible.size());
  for (std::size_t i = 0; i < read.size(); ++i) {
    EXPECT_EQ(read[i].run, visible[i].run);
    EXPECT_EQ(read[i].report.steps, visible[i].report.steps);
    ASSERT_EQ(read[i].report.values.size(), visible[i].report.values.size());
    Report merged = visible[i].report;
    EXPECT_FALSE(merge(merged, read[i].report)) << "a value differs";
  }
}

void check_curve(Dice& dice, Stored& stored, const std::vector<RunReport>& visible) {
  CurveQuery query;
  query.name = static_cast<NameNumber>(dice.below(names));
  query.most = static_cast<std::size_t>(dice.magnitude(1, 100));
  const std::int64_t last = visible.empty() ? 0 : visible.back().report.steps;
  if (dice.percent(50)) query.from = dice.between(0, last);
  if (dice.percent(50)) query.end = dice.between(query.from, last + 1);
  const CurveData curve = read_curve(stored.source(), query).value();

  std::vector<std::pair<std::int64_t, double>> finite;
  std::vector<std::int64_t> not_finite;
  const auto column = columns_of(visible)[query.name];
  for (const auto& [steps, value] : column) {
    if (steps < query.from || steps >= query.end || !number_of(value)) continue;
    if (std::isfinite(*number_of(value))) {
      finite.emplace_back(steps, *number_of(value));
    } else {
      not_finite.push_back(steps);
    }
  }
  EXPECT_EQ(curve.count, finite.size() + not_finite.size());
  not_finite.resize(std::min(not_finite.size(), not_finite_most));
  EXPECT_EQ(curve.not_finite, not_finite);
  ASSERT_LE(curve.points.size(), query.most);
  if (finite.size() <= query.most / 8) {
    EXPECT_EQ(curve.points.size(), finite.size()) << "few values are all shown";
  }
  auto value = finite.begin();
  for (const Aggregate& point : curve.points) {
    Aggregate wanted;
    for (; value != finite.end() && value->first <= point.last; ++value) wanted.add(value->first, value->second);
    EXPECT_EQ(point.finite, wanted.finite);
    EXPECT_EQ(point.min, wanted.min);
    EXPECT_EQ(point.max, wanted.max);
    EXPECT_GE(wanted.first, point.first);
    EXPECT_NEAR(point.mean(), wanted.mean(), 1e-6);
  }
  EXPECT_EQ(value, finite.end()) << "every finite value is in a point";
}

/// Levels have no gaps, and each summary is that of what is below.
void check_structure(const MemoryNodes& nodes, TreeId tree) {
  const auto levels = nodes.of(tree);
  for (const auto& [level, list] : levels) {
    EXPECT_EQ(list.front().start, 0);
    for (std::size_t i = 0; i + 1 < list.size(); ++i) EXPECT_EQ(list[i].end, list[i + 1].start);
    if (level == 0) {
      EXPECT_EQ(list.back().end, no_end);
      continue;
    }
    for (const Node& node : list) {
      Summary below;
      std::uint64_t reports = 0;
      for (const Node& child : levels.at(level - 1)) {
        if (child.start < node.start || child.start >= node.end) continue;
        below.add(summary_of(child).value());
        reports += child.reports;
      }
      EXPECT_EQ(node.reports, reports);
      const Summary own = summary_of(node).value();
      ASSERT_EQ(own.metrics.size(), below.metrics.size());
      for (std::size_t i = 0; i < own.metrics.size(); ++i) {
        expect_aggregate(own.metrics[i].aggregate, below.metrics[i].aggregate);
      }
    }
  }
}

/// The steps of the next report: mostly a little more, sometimes anywhere.
std::int64_t next_steps(Dice& dice, std::int64_t last, int disorder) {
  if (dice.percent(disorder)) return dice.between(0, last + 20);
  return last + dice.between(0, 3);
}

TEST(RunTree, AgreesWithAMapOfAllReportsWhateverTheirOrder) {
  FOR_SEEDS(400, [](Dice& dice) {
    const TreeShape shape{.leaf_reports = static_cast<std::size_t>(dice.between(1, 6)),
                          .leaf_bytes = static_cast<std::size_t>(dice.between(20, 400)),
                          .summary_reports = static_cast<std::size_t>(dice.between(1, 6)),
                          .fan_out = static_cast<std::size_t>(dice.between(2, 4))};
    const int disorder = dice.percent(50) ? 0 : static_cast<int>(dice.between(1, 100));
    Stored stored(shape);
    Model model;
    std::uint64_t run = 1;
    std::int64_t last = 0;
    for (auto left = dice.magnitude(1, 600); left > 0; --left) {
      if (dice.percent(2)) {
        run += static_cast<std::uint64_t>(dice.between(1, 2));
        last = dice.between(0, last + 5);
      }
      const Report report = any_report(dice, last = next_steps(dice, last, disorder));
      stored.put(run, report);
      model.put(run, report);
      if (dice.percent(20)) stored.save();
      if (dice.percent(2)) stored.load();
      if (dice.percent(3)) check_curve(dice, stored, model.visible());
    }
    const std::vector<RunReport> visible = model.visible();
    check_states(stored, visible);
    check_reports(dice, stored, visible);
    for (int i = 0; i < 5; ++i) check_curve(dice, stored, visible);
    for (const RunSpan& one : stored.runs().visible()) check_structure(stored.nodes, one.tree);
  });
}

TEST(RunTree, ChangesNothingWhenReportsAreRepeated) {
  FOR_SEEDS(50, [](Dice& dice) {
    const TreeShape shape{4, 10'000, 2, 3};
    RunTree tree(TreeId{1}, shape);
    MemoryNodes nodes;
    std::vector<Report> reports;
    for (std::int64_t i = 0; i < dice.between(1, 200); ++i) reports.push_back(any_report(dice, 3 * i));
    for (const Report& report : reports) ASSERT_TRUE(tree.put(nodes, report));
    nodes.put(tree.take_changes(nodes).value());
    for (const Report& report : reports) {
      const RunTree::Put put = tree.put(nodes, report).value();
      EXPECT_FALSE(put.has_changed);
      ASSERT_TRUE(put.before);
      EXPECT_EQ(put.before->steps, report.steps);
    }
    EXPECT_TRUE(tree.take_changes(nodes).value().empty());
  });
}

TEST(RunTree, NodesStaySmallAlsoForReportsInReverseOrder) {
  const TreeShape shape{4, 10'000, 2, 3};
  RunTree tree(TreeId{1}, shape);
  MemoryNodes nodes;
  for (std::int64_t steps = 3'000; steps > 0; --steps) {
    ASSERT_TRUE(tree.put(nodes, {steps, 0, {{0, static_cast<double>(steps)}}}));
    if (steps % 10 == 0) nodes.put(tree.take_changes(nodes).value());
  }
  nodes.put(tree.take_changes(nodes).value());
  const auto levels = nodes.of(TreeId{1});
  for (const auto& [level, list] : levels) {
    for (const Node& node : list) {
      const auto below =
          level == 0 ? 0
                     : std::count_if(levels.at(level - 1).begin(), levels.at(level - 1).end(), [&](const Node& child) {
                         return child.start >= node.start && child.start < node.end;
                       });
      ASSERT_LE(below, 6);
      if (level == 0) {
        ASSERT_LE(node.reports, 4U);
      }
    }
  }
  check_structure(nodes, TreeId{1});
}

TEST(Curve, ShowsASingleSpikeAmongMillionsAndReadsThousandsOfNodes) {
  const TreeShape shape;
  RunTree tree(TreeId{1}, shape);
  MemoryNodes nodes;
  constexpr std::int64_t count = 1'000'000;
  for (std::int64_t steps = 0; steps < count; ++steps) {
    ASSERT_TRUE(tree.put(nodes, {steps, 0, {{0, steps == 777'777 ? 1e6 : 1.0}}}));
    if (steps % 10'000 == 0) nodes.put(tree.take_changes(nodes).value());
  }
  nodes.put(tree.take_changes(nodes).value());
  const RunSpan run{.number = 1, .tree = TreeId{1}, .levels = tree.levels()};
  const Source source{nodes, std::span(&run, 1)};
  for (const std::size_t most : {10, 100, 1'000}) {
    nodes.read = 0;
    const CurveData curve = read_curve(source, {.most = most}).value();
    EXPECT_EQ(curve.count, static_cast<std::uint64_t>(count));
    EXPECT_LE(curve.points.size(), most);
    EXPECT_GE(curve.points.size(), most / 4);
    EXPECT_EQ(std::count_if(curve.points.begin(), curve.points.end(), [](const Aggregate& p) { return p.max == 1e6; }),
              1);
    EXPECT_LE(nodes.read, 8 * most + 100);
  }
  const CurveData close = read_curve(source, {.from = 777'700, .end = 777'800, .most = 1'000}).value();
  EXPECT_EQ(close.points.size(), 100U) << "zoomed in, every value is a point";
}

TEST(Runs, ANewerRunHidesWhatItRepeatsAndNothingBefore) {
  Runs runs;
  EXPECT_EQ(runs.report(1, 10, TreeId{1}).size(), 1U);
  EXPECT_TRUE(runs.report(1, 100, TreeId{9}).empty()) << "nothing changes while a run goes on";
  const std::vector<RunSpan> changed = runs.report(2, 50, TreeId{2});
  ASSERT_EQ(changed.size(), 2U);
  EXPECT_EQ(changed[1].number, 1U);
  EXPECT_EQ(changed[1].end, 50);
  EXPECT_TRUE(changed[1].has_hidden);
  EXPECT_EQ(runs.visible().size(), 2U);
  runs.report(3, 10, TreeId{3});
  ASSERT_EQ(runs.visible().size(), 1U) << "it repeats all of both";
  EXPECT_EQ(runs.visible()[0].number, 3U);
}

}  // namespace
}  // namespace cadre::experiment::metrics
