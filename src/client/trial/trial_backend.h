/// What a trial talks to: the master of its cluster, or a folder when it runs by itself. All functions block; those of
/// a ReportSink are called on one thread, the others on any, one at a time.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "client/trial/checkpoint_files.h"
#include "client/trial/reporter.h"
#include "experiment/views.h"

namespace cadre::client {

class TrialBackend : public ReportSink {
 public:
  using CheckpointId = experiment::CheckpointId;

  /// What the program needs to begin; again: what has changed since.
  [[nodiscard]] virtual Result<experiment::RunView> begin() = 0;
  /// News that are stored when this returns.
  [[nodiscard]] virtual Result<void> declare(const experiment::requests::ReportTrial& news) = 0;

  /// Before the files of a checkpoint are stored.
  [[nodiscard]] virtual Result<void> begin_checkpoint(const CheckpointId& checkpoint) = 0;
  /// Stores these files from a folder; several processes may store files of one checkpoint.
  [[nodiscard]] virtual Result<void> store_files(const CheckpointId& checkpoint, const std::string& folder,
                                                 const std::vector<CheckpointFile>& files) = 0;
  /// From now on the checkpoint exists.
  [[nodiscard]] virtual Result<void> complete_checkpoint(const experiment::requests::CompleteCheckpoint& whole) = 0;
  [[nodiscard]] virtual Result<experiment::CheckpointView> find_checkpoint(const CheckpointId& checkpoint) = 0;
  /// Brings all its files into a folder.
  [[nodiscard]] virtual Result<void> fetch_files(const experiment::CheckpointView& checkpoint,
                                                 const std::string& folder) = 0;
  /// Where the files of a checkpoint already are, so that nothing needs to be fetched; empty: nowhere.
  virtual std::string folder_of(const CheckpointId& checkpoint) const = 0;
  /// A folder of this trial in which new files can be written; empty: that for temporary files.
  virtual std::string scratch() const = 0;
};

}  // namespace cadre::client
