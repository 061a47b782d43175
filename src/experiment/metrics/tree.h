/// Adds reports of one run in one group to the tree that keeps them (node.h), and keeps the summaries of the tree
/// right. One thread at a time.
///
/// Reports mostly come in the order of their steps; they are added to the last leaf without reading anything. A report
/// for earlier steps changes the leaf in which it belongs, and the summaries above.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "experiment/metrics/codec.h"
#include "experiment/metrics/node.h"

namespace cadre::experiment::metrics {

class RunTree {
 public:
  /// A new one.
  RunTree(TreeId id, const TreeShape& shape);
  /// One that is stored and has so many levels.
  [[nodiscard]] static Result<RunTree> load(NodeReader& reader, TreeId id, std::uint32_t levels,
                                            const TreeShape& shape);

  struct Put {
    bool has_changed = true;       ///< the same was not stored before
    std::optional<Report> before;  ///< what was stored for these steps
  };
  /// Merges the report with what is stored for the same steps.
  [[nodiscard]] Result<Put> put(NodeReader& reader, const Report& report);

  /// The nodes that are new or have changed since the last time. If they cannot be stored, load the tree again.
  [[nodiscard]] Result<std::vector<Node>> take_changes(NodeReader& reader);

  [[nodiscard]] std::uint32_t levels() const { return static_cast<std::uint32_t>(open_.size()); }
  /// Roughly, in memory.
  [[nodiscard]] std::size_t bytes() const;

 private:
  /// A node that has no parent yet.
  struct Open {
    std::int64_t start = 0;
    std::int64_t end = 0;
    std::uint64_t reports = 0;
    Summary summary;
  };
  /// A leaf before the last one, while it is changed.
  struct Opened {
    std::int64_t start = 0;
    std::int64_t end = 0;
    std::vector<Report> reports;
    bool has_changed = false;
  };
  using Starts = std::set<std::int64_t>;

  bool is_full(const PackedReports& reports) const;
  Open* find_open(std::uint32_t level, std::int64_t start);
  Node leaf_of(std::int64_t start, std::int64_t end, const PackedReports& packed, const Summary& summary) const;
  void write(Node node);
  void close_last(std::int64_t end);
  void fold(std::uint32_t level);
  void replace_open(std::uint32_t level, std::int64_t start, std::vector<Open> pieces);

  Result<std::optional<Node>> node_at(NodeReader& reader, std::uint32_t level, std::int64_t steps) const;
  Result<std::vector<Node>> children_of(NodeReader& reader, const Node& parent) const;

  Result<Put> merge_into_last(const Report& report);
  Result<Put> merge_before_last(NodeReader& reader, const Report& report);
  void settle_opened();
  std::vector<std::vector<Report>> divide(std::vector<Report> reports) const;
  Result<Starts> refresh_parents(NodeReader& reader, std::uint32_t level, const Starts& changed);

  TreeId id_;
  TreeShape shape_;
  std::int64_t last_start_ = 0;  ///< of the last leaf
  PackedReports last_;
  bool last_has_changed_ = false;
  std::vector<std::vector<Open>> open_ = std::vector<std::vector<Open>>(1);  ///< by level; without the last leaf
  std::optional<Opened> opened_;
  Starts changed_leaves_;  ///< whose parents are to be made again
  std::map<std::pair<std::uint32_t, std::int64_t>, Node> written_;
};

}  // namespace cadre::experiment::metrics
