/// Nodes in memory, which counts what is read. One thread at a time.
#pragma once

#include <iterator>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "experiment/metrics/node.h"

namespace cadre::experiment::metrics {

class MemoryNodes final : public NodeReader {
 public:
  void put(std::vector<Node> changes) {
    for (Node& node : changes) {
      const Key key{node.tree.value, node.level, node.start};
      nodes_.insert_or_assign(key, std::move(node));
    }
  }

  Result<std::vector<Node>> nodes(const Range& range) override {
    std::vector<Node> found;
    for (auto at = nodes_.lower_bound({range.tree.value, range.level, range.from});
         at != nodes_.end() && at->first < Key{range.tree.value, range.level, range.before} &&
         found.size() < range.most;
         ++at) {
      found.push_back(at->second);
      ++read;
      if (range.data == Data::instead_of_summary && !found.back().summary.empty()) found.back().data.clear();
    }
    return found;
  }

  Result<std::optional<Node>> node_at(TreeId tree, std::uint32_t level, std::int64_t steps) override {
    ++read;
    const auto next = nodes_.upper_bound({tree.value, level, steps});
    if (next == nodes_.begin()) return std::optional<Node>();
    const Node& node = std::prev(next)->second;
    if (node.tree != tree || node.level != level) return std::optional<Node>();
    return std::optional(node);
  }

  std::size_t read = 0;

  /// By level.
  std::map<std::uint32_t, std::vector<Node>> of(TreeId tree) const {
    std::map<std::uint32_t, std::vector<Node>> levels;
    for (const auto& [key, node] : nodes_) {
      if (node.tree == tree) levels[node.level].push_back(node);
    }
    return levels;
  }

 private:
  using Key = std::tuple<std::uint64_t, std::uint32_t, std::int64_t>;
  std::map<Key, Node> nodes_;
};

}  // namespace cadre::experiment::metrics
