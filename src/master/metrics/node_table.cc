#include "master/metrics/node_table.h"

#include <algorithm>
#include <utility>

namespace cadre::master {
namespace {

using experiment::metrics::Node;
using experiment::metrics::TreeId;

constexpr std::string_view range_sql =
    "SELECT start_steps, end_steps, reports, summary, data FROM metric_nodes "
    "WHERE tree = $1 AND level = $2 AND start_steps >= $3 AND start_steps < $4 ORDER BY start_steps LIMIT $5";
/// Reports are not read where there is a summary.
constexpr std::string_view range_of_summaries_sql =
    "SELECT start_steps, end_steps, reports, summary, CASE WHEN length(summary) = 0 THEN data END FROM metric_nodes "
    "WHERE tree = $1 AND level = $2 AND start_steps >= $3 AND start_steps < $4 ORDER BY start_steps LIMIT $5";
constexpr std::string_view at_sql =
    "SELECT start_steps, end_steps, reports, summary, data FROM metric_nodes "
    "WHERE tree = $1 AND level = $2 AND start_steps <= $3 ORDER BY start_steps DESC LIMIT 1";

database::Value cell(std::uint64_t number) { return static_cast<std::int64_t>(number); }

}  // namespace

Result<std::vector<Node>> NodeTable::read(std::string_view sql, const database::Values& params, TreeId tree,
                                          std::uint32_t level) {
  TRY_ASSIGN(rows, database_.query(sql, params));
  std::vector<Node> nodes;
  nodes.reserve(rows.size());
  for (const database::Row row : rows) {
    TRY_ASSIGN(cells, (row.read<std::int64_t, std::int64_t, std::int64_t, Bytes, std::optional<Bytes>>()));
    auto& [start, end, reports, summary, data] = cells;
    nodes.push_back({tree, level, start, end, static_cast<std::uint64_t>(reports), std::move(summary),
                     std::move(data).value_or(Bytes())});
  }
  return nodes;
}

Result<std::vector<Node>> NodeTable::nodes(const Range& range) {
  const auto most = static_cast<std::int64_t>(std::min<std::size_t>(range.most, INT64_MAX));
  return read(range.data == Data::needed ? range_sql : range_of_summaries_sql,
              {cell(range.tree.value), cell(range.level), range.from, range.before, most}, range.tree, range.level);
}

Result<std::optional<Node>> NodeTable::node_at(TreeId tree, std::uint32_t level, std::int64_t steps) {
  TRY_ASSIGN(nodes, read(at_sql, {cell(tree.value), cell(level), steps}, tree, level));
  if (nodes.empty()) return std::optional<Node>();
  return std::optional(std::move(nodes.front()));
}

}  // namespace cadre::master
