#include "experiment/metrics/tree.h"

#include <algorithm>
#include <iterator>

namespace cadre::experiment::metrics {
namespace {

/// The place for these steps among reports.
std::vector<Report>::iterator place_for(std::vector<Report>& reports, std::int64_t steps) {
  return std::lower_bound(reports.begin(), reports.end(), steps,
                          [](const Report& one, std::int64_t wanted) { return one.steps < wanted; });
}

RunTree::Put merge_into(std::vector<Report>& reports, const Report& report) {
  const auto place = place_for(reports, report.steps);
  if (place == reports.end() || place->steps != report.steps) {
    reports.insert(place, report);
    return {true, std::nullopt};
  }
  Report before = *place;
  const bool has_changed = merge(*place, report);
  return {has_changed, std::move(before)};
}

}  // namespace

RunTree::RunTree(TreeId id, const TreeShape& shape) : id_(id), shape_(shape) {}

Result<RunTree> RunTree::load(NodeReader& reader, TreeId id, std::uint32_t levels, const TreeShape& shape) {
  RunTree tree(id, shape);
  tree.open_.resize(std::max<std::uint32_t>(levels, 1));
  std::int64_t end = 0;
  for (std::uint32_t level = tree.levels(); level-- > 0;) {
    TRY_ASSIGN(nodes,
               reader.nodes({.tree = id,
                             .level = level,
                             .from = end,
                             .data = level == 0 ? NodeReader::Data::needed : NodeReader::Data::instead_of_summary}));
    for (Node& node : nodes) {
      end = node.end;
      if (node.end == no_end) {
        TRY_ASSIGN(reports, unpack(node.data));
        tree.last_start_ = node.start;
        tree.last_ = PackedReports(std::move(node.data), reports);
        continue;
      }
      TRY_ASSIGN(summary, summary_of(node));
      tree.open_[level].push_back({node.start, node.end, node.reports, std::move(summary)});
    }
  }
  if (end != no_end) return fail(Errc::corrupt, "the last stored reports of a run of a trial are missing");
  return tree;
}

std::size_t RunTree::bytes() const {
  std::size_t bytes = sizeof(RunTree) + last_.bytes().size();
  for (const std::vector<Open>& level : open_) {
    for (const Open& one : level) bytes += sizeof(Open) + one.summary.metrics.size() * sizeof(Summary::One);
  }
  return bytes;
}

bool RunTree::is_full(const PackedReports& reports) const {
  return reports.count() >= shape_.leaf_reports || reports.bytes().size() >= shape_.leaf_bytes;
}

Node RunTree::leaf_of(std::int64_t start, std::int64_t end, const PackedReports& packed, const Summary& summary) const {
  Node node{id_, 0, start, end, packed.count(), {}, packed.bytes()};
  if (packed.count() >= shape_.summary_reports && end != no_end) node.summary = pack_summary(summary);
  return node;
}

void RunTree::write(Node node) {
  const std::pair key{node.level, node.start};
  written_.insert_or_assign(key, std::move(node));
}

RunTree::Open* RunTree::find_open(std::uint32_t level, std::int64_t start) {
  std::vector<Open>& nodes = open_[level];
  const auto found = std::find_if(nodes.begin(), nodes.end(), [&](const Open& one) { return one.start == start; });
  return found == nodes.end() ? nullptr : &*found;
}

/// The last leaf gets an end; a new one begins there.
void RunTree::close_last(std::int64_t end) {
  const Result<std::vector<Report>> reports = unpack(last_.bytes());
  Summary summary = reports ? summary_of(*reports) : Summary{};
  const std::uint64_t count = last_.count();
  write(leaf_of(last_start_, end, last_, summary));
  open_[0].push_back({last_start_, end, count, std::move(summary)});
  last_ = {};
  last_start_ = end;
  fold(0);
}

/// Makes parents of nodes without one while there are enough of them.
void RunTree::fold(std::uint32_t level) {
  while (open_[level].size() >= shape_.fan_out) {
    if (open_.size() == level + 1) open_.emplace_back();
    std::vector<Open>& nodes = open_[level];
    const auto end = nodes.begin() + static_cast<std::ptrdiff_t>(shape_.fan_out);
    Open parent{nodes.front().start, std::prev(end)->end, 0, {}};
    for (auto child = nodes.begin(); child != end; ++child) {
      parent.reports += child->reports;
      parent.summary.add(child->summary);
    }
    nodes.erase(nodes.begin(), end);
    write({id_, level + 1, parent.start, parent.end, parent.reports, pack_summary(parent.summary), {}});
    open_[level + 1].push_back(std::move(parent));
    fold(level + 1);
  }
}

void RunTree::replace_open(std::uint32_t level, std::int64_t start, std::vector<Open> pieces) {
  std::vector<Open>& nodes = open_[level];
  const auto found = std::find_if(nodes.begin(), nodes.end(), [&](const Open& one) { return one.start == start; });
  const auto next = nodes.erase(found);
  nodes.insert(next, std::make_move_iterator(pieces.begin()), std::make_move_iterator(pieces.end()));
  fold(level);
}

Result<RunTree::Put> RunTree::put(NodeReader& reader, const Report& report) {
  if (!last_.empty() && report.steps <= last_.last()) {
    return report.steps >= last_start_ ? merge_into_last(report) : merge_before_last(reader, report);
  }
  if (is_full(last_)) close_last(report.steps);
  last_.add(report);
  last_has_changed_ = true;
  return Put{};
}

Result<RunTree::Put> RunTree::merge_into_last(const Report& report) {
  TRY_ASSIGN(reports, unpack(last_.bytes()));
  Put put = merge_into(reports, report);
  if (!put.has_changed) return put;
  last_has_changed_ = true;
  last_ = pack(reports);
  const bool is_too_large = reports.size() > shape_.leaf_reports || last_.bytes().size() > 2 * shape_.leaf_bytes;
  if (!is_too_large || reports.size() == 1) return put;
  std::vector<std::vector<Report>> pieces = divide(std::move(reports));
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    last_ = pack(pieces[i]);
    if (i + 1 < pieces.size()) close_last(pieces[i + 1].front().steps);
  }
  return put;
}

Result<RunTree::Put> RunTree::merge_before_last(NodeReader& reader, const Report& report) {
  if (!opened_ || report.steps < opened_->start || report.steps >= opened_->end) {
    settle_opened();
    TRY_ASSIGN(leaf, node_at(reader, 0, report.steps));
    if (!leaf) return fail(Errc::corrupt, "the first stored reports of a run of a trial are missing");
    TRY_ASSIGN(reports, unpack(leaf->data));
    opened_ = Opened{leaf->start, leaf->end, std::move(reports), false};
  }
  Put put = merge_into(opened_->reports, report);
  opened_->has_changed = opened_->has_changed || put.has_changed;
  if (opened_->reports.size() > shape_.leaf_reports) settle_opened();
  return put;
}

/// Halves until each piece is small enough.
std::vector<std::vector<Report>> RunTree::divide(std::vector<Report> reports) const {
  const bool is_small = reports.size() <= shape_.leaf_reports && pack(reports).bytes().size() <= 2 * shape_.leaf_bytes;
  if (is_small || reports.size() == 1) return {std::move(reports)};
  const auto middle = reports.begin() + static_cast<std::ptrdiff_t>(reports.size() / 2);
  std::vector<Report> second(std::make_move_iterator(middle), std::make_move_iterator(reports.end()));
  reports.erase(middle, reports.end());
  std::vector<std::vector<Report>> pieces = divide(std::move(reports));
  for (std::vector<Report>& piece : divide(std::move(second))) pieces.push_back(std::move(piece));
  return pieces;
}

/// Writes the leaf that was changed, as one or several.
void RunTree::settle_opened() {
  if (!opened_) return;
  Opened leaf = *std::exchange(opened_, std::nullopt);
  if (!leaf.has_changed) return;
  const std::vector<std::vector<Report>> reports = divide(std::move(leaf.reports));
  std::vector<Open> pieces;
  for (std::size_t i = 0; i < reports.size(); ++i) {
    const std::int64_t start = i == 0 ? leaf.start : reports[i].front().steps;
    const std::int64_t end = i + 1 == reports.size() ? leaf.end : reports[i + 1].front().steps;
    Summary summary = summary_of(reports[i]);
    write(leaf_of(start, end, pack(reports[i]), summary));
    pieces.push_back({start, end, reports[i].size(), std::move(summary)});
  }
  if (find_open(0, leaf.start) == nullptr) {
    changed_leaves_.insert(leaf.start);
  } else {
    replace_open(0, leaf.start, std::move(pieces));
  }
}

/// What is written but not stored yet counts, too.
Result<std::optional<Node>> RunTree::node_at(NodeReader& reader, std::uint32_t level, std::int64_t steps) const {
  TRY_ASSIGN(stored, reader.node_at(id_, level, steps));
  auto written = written_.upper_bound({level, steps});
  if (written == written_.begin()) return stored;
  --written;
  if (written->first.first != level || (stored && stored->start > written->first.second)) return stored;
  return std::optional(written->second);
}

Result<std::vector<Node>> RunTree::children_of(NodeReader& reader, const Node& parent) const {
  const std::uint32_t level = parent.level - 1;
  TRY_ASSIGN(stored, reader.nodes({.tree = id_, .level = level, .from = parent.start, .before = parent.end}));
  std::vector<Node> children;
  auto written = written_.lower_bound({level, parent.start});
  const auto end = written_.lower_bound({level, parent.end});
  for (Node& node : stored) {
    for (; written != end && written->first.second < node.start; ++written) children.push_back(written->second);
    if (written != end && written->first.second == node.start) {
      children.push_back((written++)->second);
    } else {
      children.push_back(std::move(node));
    }
  }
  for (; written != end; ++written) children.push_back(written->second);
  return children;
}

/// Makes the nodes of `level` again that are parents of changed ones. Gives those which have a parent themselves.
Result<RunTree::Starts> RunTree::refresh_parents(NodeReader& reader, std::uint32_t level, const Starts& changed) {
  Starts changed_here;
  std::int64_t done_before = 0;  // the parents of starts below this one are made
  for (const std::int64_t start : changed) {
    if (start < done_before) continue;
    TRY_ASSIGN(parent, node_at(reader, level, start));
    if (!parent) return fail(Errc::corrupt, "a stored summary of metrics is missing");
    done_before = parent->end;
    TRY_ASSIGN(children, children_of(reader, *parent));
    const std::size_t piece = children.size() > 2 * shape_.fan_out ? shape_.fan_out : children.size();
    std::vector<Open> pieces;
    for (std::size_t from = 0; from < children.size(); from += piece) {
      const std::size_t end = std::min(from + piece, children.size());
      Open one{from == 0 ? parent->start : children[from].start,
               end == children.size() ? parent->end : children[end].start,
               0,
               {}};
      for (std::size_t i = from; i < end; ++i) {
        TRY_ASSIGN(summary, summary_of(children[i]));
        one.summary.add(summary);
        one.reports += children[i].reports;
      }
      write({id_, level, one.start, one.end, one.reports, pack_summary(one.summary), {}});
      pieces.push_back(std::move(one));
    }
    if (find_open(level, parent->start) == nullptr) {
      changed_here.insert(parent->start);
    } else {
      replace_open(level, parent->start, std::move(pieces));
    }
  }
  return changed_here;
}

Result<std::vector<Node>> RunTree::take_changes(NodeReader& reader) {
  settle_opened();
  Starts changed = std::exchange(changed_leaves_, {});
  for (std::uint32_t level = 1; !changed.empty(); ++level) {
    TRY_ASSIGN(above, refresh_parents(reader, level, changed));
    changed = std::move(above);
  }
  if (last_has_changed_) write(leaf_of(last_start_, no_end, last_, {}));
  last_has_changed_ = false;
  std::vector<Node> changes;
  for (auto& [key, node] : written_) changes.push_back(std::move(node));
  written_.clear();
  return changes;
}

}  // namespace cadre::experiment::metrics
