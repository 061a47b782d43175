#include "experiment/metrics/curve.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "experiment/metrics/codec.h"
#include "experiment/metrics/cover.h"

namespace cadre::experiment::metrics {
namespace {

/// A node, or one value of it.
struct Item {
  const RunSpan* run = nullptr;
  std::uint32_t level = 0;
  bool is_value = false;
  std::int64_t start = 0;
  std::int64_t end = 0;
  Aggregate aggregate;
};

class CurveReader {
 public:
  CurveReader(const Source& source, const CurveQuery& query) : source_(source), query_(query) {}

  Result<CurveData> read() {
    for (const RunSpan& run : source_.runs) TRY(cover_run(run));
    while (may_expand_highest()) TRY(expand(highest(), NodeReader::Data::instead_of_summary));
    if (may_expand_leaves()) TRY(expand(0, NodeReader::Data::needed));
    CurveData curve;
    for (const Item& item : items_) curve.count += item.aggregate.numbers();
    add_points(curve.points);
    TRY(add_not_finite(curve.not_finite));
    return curve;
  }

 private:
  Result<void> cover_run(const RunSpan& run) {
    const Steps steps{query_.from, std::min(query_.end, run.end)};
    const Covering covering{[&](const Node& node) { return add_node(run, node); },
                            [&](const Node& leaf) { return add_values(run, leaf, steps); }};
    return cover(source_.reader, run, steps, covering);
  }

  Result<void> add_node(const RunSpan& run, const Node& node) {
    TRY_ASSIGN(summary, summary_of(node, query_.name));
    const Aggregate* found = summary.find(query_.name);
    if (found == nullptr || found->numbers() == 0) return {};
    items_.push_back({&run, node.level, false, node.start, node.end, *found});
    return {};
  }

  Result<void> add_values(const RunSpan& run, const Node& leaf, const Steps& steps) {
    return read_values(leaf.data, query_.name, [&](std::int64_t at, const MetricValue& value) {
      if (!steps.contains(at) || !number_of(value)) return;
      Item item{&run, 0, true, at, at + 1, {}};
      item.aggregate.add(at, value);
      items_.push_back(item);
    });
  }

  std::uint32_t highest() const {
    std::uint32_t level = 0;
    for (const Item& item : items_) level = std::max(level, item.level);
    return level;
  }

  /// Each costs about as many nodes as it has children.
  bool may_expand_highest() const {
    const std::uint32_t level = highest();
    if (level == 0) return false;
    const auto count = static_cast<std::size_t>(
        std::count_if(items_.begin(), items_.end(), [&](const Item& item) { return item.level == level; }));
    return items_.size() - count + count * source_.shape.fan_out <= 4 * query_.most;
  }

  static bool is_divisible(const Item& item) { return !item.is_value && item.aggregate.values > 1; }

  bool may_expand_leaves() const {
    std::size_t leaves = 0, values = 0;
    for (const Item& item : items_) {
      if (item.level > 0) return false;
      if (is_divisible(item)) ++leaves;
      values += item.aggregate.numbers();
    }
    return leaves <= query_.most && values <= 16 * query_.most;
  }

  /// Puts what is inside the nodes of this level in their place; those beside each other are read at once.
  Result<void> expand(std::uint32_t level, NodeReader::Data data) {
    std::vector<Item> before = std::exchange(items_, {});
    const auto is_wanted = [&](const Item& item) { return item.level == level && is_divisible(item); };
    for (std::size_t at = 0; at < before.size();) {
      if (before[at].level == level && !before[at].is_value && before[at].aggregate.values == 1) {
        before[at].is_value = true;  // all is known of it
        before[at].level = 0;
      }
      if (!is_wanted(before[at])) {
        items_.push_back(before[at++]);
        continue;
      }
      const RunSpan& run = *before[at].run;
      NodeReader::Range range{.tree = run.tree,
                              .level = level == 0 ? 0 : level - 1,
                              .from = before[at].start,
                              .before = before[at].end,
                              .data = data};
      for (++at; at < before.size() && is_wanted(before[at]) && before[at].start == range.before; ++at) {
        range.before = before[at].end;
      }
      TRY_ASSIGN(nodes, source_.reader.nodes(range));
      for (const Node& node : nodes) TRY(level == 0 ? add_values(run, node, {}) : add_node(run, node));
    }
    return {};
  }

  /// Joins items so that each point has about as many values.
  void add_points(std::vector<Aggregate>& points) const {
    std::uint64_t total = 0, items = 0;
    for (const Item& item : items_) {
      total += item.aggregate.finite;
      items += item.aggregate.finite > 0 ? 1 : 0;
    }
    const bool is_few = items <= query_.most;
    std::uint64_t before = 0, last_place = 0;
    for (const Item& item : items_) {
      if (item.aggregate.finite == 0) continue;
      const auto place = static_cast<std::uint64_t>(
          static_cast<long double>(before) * static_cast<long double>(query_.most) / static_cast<long double>(total));
      if (is_few || points.empty() || place != last_place) points.emplace_back();
      points.back().add(item.aggregate);
      last_place = place;
      before += item.aggregate.finite;
    }
  }

  Result<void> add_not_finite(std::vector<std::int64_t>& steps) const {
    for (const Item& item : items_) {
      if (steps.size() >= not_finite_most) break;
      if (item.aggregate.not_finite == 0) continue;
      if (item.aggregate.values == 1) {
        steps.push_back(item.aggregate.first);
      } else {
        TRY(find_not_finite(item.run->tree, item.level, {item.start, item.end}, steps));
      }
    }
    return {};
  }

  Result<void> find_not_finite(TreeId tree, std::uint32_t level, const Steps& range,
                               std::vector<std::int64_t>& steps) const {
    if (level == 0) {
      TRY_ASSIGN(leaf, source_.reader.node_at(tree, 0, range.from));
      if (!leaf) return {};
      return read_values(leaf->data, query_.name, [&](std::int64_t at, const MetricValue& value) {
        const std::optional<double> number = number_of(value);
        if (number && !std::isfinite(*number) && steps.size() < not_finite_most) steps.push_back(at);
      });
    }
    TRY_ASSIGN(children,
               source_.reader.nodes({.tree = tree, .level = level - 1, .from = range.from, .before = range.end}));
    for (const Node& child : children) {
      TRY_ASSIGN(summary, summary_of(child, query_.name));
      const Aggregate* found = summary.find(query_.name);
      if (found == nullptr || found->not_finite == 0 || steps.size() >= not_finite_most) continue;
      TRY(find_not_finite(tree, level - 1, {child.start, child.end}, steps));
    }
    return {};
  }

  const Source& source_;
  const CurveQuery& query_;
  std::vector<Item> items_;
};

/// The run whose report at these steps is visible.
const RunSpan& run_at(std::span<const RunSpan> runs, std::int64_t steps) {
  const auto newest = std::find_if(runs.rbegin(), runs.rend(), [&](const RunSpan& run) { return run.first <= steps; });
  return newest == runs.rend() ? runs.front() : *newest;
}

}  // namespace

Result<CurveData> read_curve(const Source& source, const CurveQuery& query) {
  return CurveReader(source, query).read();
}

Result<std::vector<MetricState>> read_states(const Source& source) {
  Summary all;
  for (const RunSpan& run : source.runs) {
    const auto whole = [&](const Node& node) -> Result<void> {
      TRY_ASSIGN(summary, summary_of(node));
      all.add(summary);
      return {};
    };
    const auto part = [&](const Node& leaf) -> Result<void> {
      TRY_ASSIGN(reports, unpack(leaf.data));
      std::erase_if(reports, [&](const Report& report) { return report.steps >= run.end; });
      all.add(summary_of(reports));
      return {};
    };
    TRY(cover(source.reader, run, {}, {whole, part}));
  }
  std::vector<MetricState> states;
  std::map<std::pair<TreeId, std::int64_t>, std::vector<Report>> leaves;  // most metrics have the same last report
  std::map<std::int64_t, const std::vector<Report>*> leaf_of;             // by the steps wanted
  for (const auto& [name, aggregate] : all.metrics) {
    const std::vector<Report>*& reports = leaf_of[aggregate.last];
    if (reports == nullptr) {
      TRY_ASSIGN(leaf, source.reader.node_at(run_at(source.runs, aggregate.last).tree, 0, aggregate.last));
      if (!leaf) return fail(Errc::corrupt, "the last stored report of a metric is missing");
      TRY_ASSIGN(unpacked, unpack(leaf->data));
      reports = &(leaves[{leaf->tree, leaf->start}] = std::move(unpacked));
    }
    MetricState state{name, aggregate, {}};
    for (const Report& report : *reports) {
      const MetricValue* value = report.steps == aggregate.last ? report.find(name) : nullptr;
      if (value != nullptr) state.last = *value;
    }
    states.push_back(std::move(state));
  }
  return states;
}

Result<ReportPage> read_reports(const Source& source, std::int64_t from, std::size_t most, ByteSize bytes_most) {
  constexpr std::size_t leaves_at_once = 16;
  ReportPage page;
  const auto take = [&](const RunSpan& run, const Node& leaf) -> Result<bool> {
    TRY_ASSIGN(reports, unpack(leaf.data));
    const ByteSize each{static_cast<std::int64_t>(leaf.data.size() / std::max<std::size_t>(reports.size(), 1))};
    for (Report& report : reports) {
      if (report.steps < from || report.steps >= run.end) continue;
      page.has_more = page.reports.size() >= most || (!page.reports.empty() && page.bytes + each > bytes_most);
      if (page.has_more) return false;
      page.bytes += each;
      page.reports.push_back({run.number, std::move(report)});
    }
    return true;
  };
  for (const RunSpan& run : source.runs) {
    if (run.end <= from) continue;
    TRY_ASSIGN(first, source.reader.node_at(run.tree, 0, std::max(from, run.first)));
    if (!first) return fail(Errc::corrupt, "stored reports of a trial are missing");
    std::vector<Node> leaves{*std::move(first)};
    while (!leaves.empty()) {
      const std::int64_t next = leaves.back().end;
      for (const Node& leaf : leaves) {
        TRY_ASSIGN(goes_on, take(run, leaf));
        if (!goes_on) return page;
      }
      if (next >= run.end) break;
      TRY_ASSIGN(more, source.reader.nodes({.tree = run.tree,
                                            .from = next,
                                            .before = run.end,
                                            .data = NodeReader::Data::needed,
                                            .most = leaves_at_once}));
      leaves = std::move(more);
    }
  }
  return page;
}

}  // namespace cadre::experiment::metrics
