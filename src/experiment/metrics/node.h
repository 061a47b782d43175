/// The nodes in which the reports of one run of a trial in one group are kept. Values; one thread at a time.
///
/// Nodes of level 0 are leaves: they hold reports. A node of a higher level stands for those of the level below in its
/// range of steps, and holds a summary of them. The ranges of one level do not overlap and have no gaps; the last leaf
/// has no end. The last nodes of a level have no parent until there are enough of them. The start of a node never
/// changes, and no node is removed: a node that grows too large is divided.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/id.h"
#include "base/result.h"
#include "experiment/metrics/summary.h"

namespace cadre::experiment::metrics {

using TreeId = Id<struct MetricTreeTag>;

/// Behind all steps.
constexpr std::int64_t no_end = std::numeric_limits<std::int64_t>::max();

struct Node {
  TreeId tree;
  std::uint32_t level = 0;
  std::int64_t start = 0;
  std::int64_t end = no_end;  ///< it holds steps before this
  std::uint64_t reports = 0;
  Bytes summary;  ///< empty in leaves that are not full or have few reports: it is made from these
  Bytes data;     ///< reports; of leaves
};

/// How large nodes become.
struct TreeShape {
  std::size_t leaf_reports = 64;
  std::size_t leaf_bytes = 32'768;
  std::size_t summary_reports = 16;  ///< leaves with fewer have no summary: it would be as large as they are
  std::size_t fan_out = 8;           ///< children of a new parent; it is divided when it has twice as many
};

/// Reads nodes where they are stored.
class NodeReader {
 public:
  enum class Data { needed, instead_of_summary };  ///< whether to read reports of leaves that have a summary
  struct Range {
    TreeId tree;
    std::uint32_t level = 0;
    std::int64_t from = 0;         ///< the first start
    std::int64_t before = no_end;  ///< an end of starts
    Data data = Data::instead_of_summary;
    std::size_t most = std::numeric_limits<std::size_t>::max();
  };

  virtual ~NodeReader() = default;
  /// By start.
  [[nodiscard]] virtual Result<std::vector<Node>> nodes(const Range& range) = 0;
  /// The node of the level with the largest start that is not above `steps`, with its reports.
  [[nodiscard]] virtual Result<std::optional<Node>> node_at(TreeId tree, std::uint32_t level, std::int64_t steps) = 0;
};

/// The summary that the node has, or that of its reports.
[[nodiscard]] Result<Summary> summary_of(const Node& node, std::optional<NameNumber> only = std::nullopt);

}  // namespace cadre::experiment::metrics
