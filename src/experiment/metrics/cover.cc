#include "experiment/metrics/cover.h"

#include <algorithm>

namespace cadre::experiment::metrics {
namespace {

Result<void> add(NodeReader& reader, const Node& node, const Steps& steps, const Covering& covering) {
  if (node.start >= steps.end || node.end <= steps.from) return {};
  if (steps.from <= node.start && node.end <= steps.end) return covering.whole(node);
  if (node.level > 0) {
    TRY_ASSIGN(children,
               reader.nodes({.tree = node.tree, .level = node.level - 1, .from = node.start, .before = node.end}));
    for (const Node& child : children) TRY(add(reader, child, steps, covering));
    return {};
  }
  if (!node.data.empty()) return covering.part(node);
  TRY_ASSIGN(leaf, reader.node_at(node.tree, 0, node.start));
  if (!leaf) return fail(Errc::corrupt, "stored reports of a trial are missing");
  return covering.part(*leaf);
}

}  // namespace

Result<void> cover(NodeReader& reader, const RunSpan& run, const Steps& wanted, const Covering& covering) {
  const Steps steps{std::max(wanted.from, run.first), std::min(wanted.end, run.end)};
  // Before its first report there is nothing: the first node is covered as a whole all the same.
  const Steps asked{steps.from == run.first ? 0 : steps.from, steps.end};
  std::int64_t position = asked.from;
  for (std::uint32_t level = run.levels; level-- > 0 && position < asked.end;) {
    TRY_ASSIGN(first, reader.node_at(run.tree, level, position));
    if (!first || first->end <= position) continue;  // no node of this level reaches so far
    TRY(add(reader, *first, asked, covering));
    position = first->end;
    if (position >= asked.end) break;
    TRY_ASSIGN(nodes, reader.nodes({.tree = run.tree, .level = level, .from = position, .before = asked.end}));
    for (const Node& node : nodes) {
      TRY(add(reader, node, asked, covering));
      position = node.end;
    }
  }
  return {};
}

}  // namespace cadre::experiment::metrics
