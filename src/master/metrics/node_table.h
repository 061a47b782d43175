/// Reads the nodes of metrics from their table. For the thread of the bulk service.
#pragma once

#include "experiment/metrics/node.h"
#include "master/bulk/bulk_database.h"

namespace cadre::master {

class NodeTable final : public experiment::metrics::NodeReader {
 public:
  explicit NodeTable(BulkDatabase& database) : database_(database) {}

  Result<std::vector<experiment::metrics::Node>> nodes(const Range& range) override;
  Result<std::optional<experiment::metrics::Node>> node_at(experiment::metrics::TreeId tree, std::uint32_t level,
                                                           std::int64_t steps) override;

 private:
  Result<std::vector<experiment::metrics::Node>> read(std::string_view sql, const database::Values& params,
                                                      experiment::metrics::TreeId tree, std::uint32_t level);

  BulkDatabase& database_;
};

}  // namespace cadre::master
