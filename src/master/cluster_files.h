/// Sees to it that a master's data folder and its database are of one cluster and one life of it: output of another
/// must neither be shown as that of new jobs nor keep theirs out. One thread at a time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "cluster/control/rows.h"
#include "cluster/data_folder.h"
#include "records/records.h"

namespace cadre::master {

enum class Adopt : std::uint8_t { no, yes };

/// Compares what stands in the folders with the database, begins a start of the master, notes it in the folders, and
/// gives its number. A database without an id gets one. Errc::conflict when the folder is another cluster's, or has
/// seen later starts than the database: with Adopt::yes its output and code are set aside instead.
[[nodiscard]] Result<std::uint64_t> claim_files(const cluster::DataFolder& data, records::Records& records, Adopt adopt,
                                                Log& log);

/// Notes in the folders to which cluster, and which start of its master, they belong.
[[nodiscard]] Result<void> mark_files(const cluster::DataFolder& data, const records::Records& records);

/// Errc::corrupt when there is output of a lease that the database has never given: it is older than the folder.
[[nodiscard]] Result<void> check_logs(const cluster::DataFolder& data, const std::vector<std::string>& logs,
                                      const cluster::control::Rows& rows);

/// Renames the folders of output and code by the cluster, and the start, that they belong to.
[[nodiscard]] Result<void> set_aside(const cluster::DataFolder& data, const std::string& cluster, std::uint64_t boot,
                                     Log& log);

}  // namespace cadre::master
