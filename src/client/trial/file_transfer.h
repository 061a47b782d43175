/// The files of a checkpoint on their way to the master and back, in parts, several at a time; repeated while the
/// master is away. For the thread of the client's loop. What is passed must stay until the task has ended.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "client/trial/checkpoint_files.h"
#include "experiment/ids.h"
#include "loop/task.h"
#include "rest/client.h"

namespace cadre::client {

using TransferOne = std::function<loop::Task<Result<void>>(const CheckpointFile& file)>;

/// Transfers all files, at most `parallel` at a time; the first error ends it.
[[nodiscard]] loop::Task<Result<void>> transfer_all(rest::Client& client, const std::vector<CheckpointFile>& files,
                                                    std::int32_t parallel, TransferOne one);

[[nodiscard]] loop::Task<Result<void>> upload_file(rest::Client& client, const experiment::CheckpointId& checkpoint,
                                                   const std::string& folder, const CheckpointFile& file);
[[nodiscard]] loop::Task<Result<void>> download_file(rest::Client& client, const experiment::CheckpointId& checkpoint,
                                                     const std::string& folder, const CheckpointFile& file);

}  // namespace cadre::client
