/// A trial on a cluster: the master keeps it. As trial_backend.h says.
#pragma once

#include <string>
#include <vector>

#include "client/trial/master_calls.h"
#include "client/trial/trial_backend.h"
#include "experiment/ids.h"
#include "experiment/requests/objects.h"

namespace cadre::client {

class ClusterTrial final : public TrialBackend {
 public:
  ClusterTrial(experiment::TrialId trial, const rest::Endpoint& master);

  Result<experiment::requests::Reported> send(const experiment::requests::ReportMetrics& batch) override;
  Result<void> send(const experiment::requests::ReportTrial& news) override;

  Result<experiment::RunView> begin() override;
  Result<void> declare(const experiment::requests::ReportTrial& news) override;
  Result<void> begin_checkpoint(const CheckpointId& checkpoint) override;
  Result<void> store_files(const CheckpointId& checkpoint, const std::string& folder,
                           const std::vector<CheckpointFile>& files) override;
  Result<void> complete_checkpoint(const experiment::requests::CompleteCheckpoint& whole) override;
  Result<experiment::CheckpointView> find_checkpoint(const CheckpointId& checkpoint) override;
  Result<void> fetch_files(const experiment::CheckpointView& checkpoint, const std::string& folder) override;
  std::string folder_of(const CheckpointId&) const override { return ""; }
  std::string scratch() const override { return ""; }

 private:
  const experiment::TrialId trial_;
  MasterCalls reports_;  ///< for the reporter's thread
  MasterCalls calls_;    ///< for all else
};

}  // namespace cadre::client
