/// A trial that runs without a cluster: a folder keeps its metrics and checkpoints. As trial_backend.h says; several
/// processes may use one folder, and only one of them begins.
///
///   run.json                     hyperparameters, seed and the number of runs so far
///   metrics.jsonl                one report per line
///   checkpoints/UUID/            the files of a checkpoint
///   checkpoints/UUID.json        its description, written last
///   checkpoints/.*               what is not complete
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "client/trial/trial_backend.h"

namespace cadre::client {

struct LocalOptions {
  std::string folder;    ///< empty: a new one below cadre-runs in the working folder, or with `resumes` the newest
  bool resumes = false;  ///< continues what is there, if anything
  bool shows_progress = true;
  describe::Value defaults;         ///< of hyperparameters, a map
  describe::Value given;            ///< hyperparameters that also replace those of the run that is resumed, a map
  std::vector<std::string> doubts;  ///< about what was given: warnings for the user
  std::optional<std::uint32_t> seed;
  std::string metric;      ///< of validations, that a search would optimize; may be empty
  std::int64_t until = 0;  ///< length up to which to train; 0: not limited
};

class LocalTrial final : public TrialBackend {
 public:
  explicit LocalTrial(LocalOptions options);

  Result<experiment::requests::Reported> send(const experiment::requests::ReportMetrics& batch) override;
  Result<void> send(const experiment::requests::ReportTrial& news) override;

  Result<experiment::RunView> begin() override;
  /// For another process than that which has begun.
  void join(const std::string& folder, std::uint64_t run);
  Result<void> declare(const experiment::requests::ReportTrial& news) override;
  Result<void> begin_checkpoint(const CheckpointId& checkpoint) override;
  Result<void> store_files(const CheckpointId& checkpoint, const std::string& folder,
                           const std::vector<CheckpointFile>& files) override;
  Result<void> complete_checkpoint(const experiment::requests::CompleteCheckpoint& whole) override;
  Result<experiment::CheckpointView> find_checkpoint(const CheckpointId& checkpoint) override;
  Result<void> fetch_files(const experiment::CheckpointView& checkpoint, const std::string& folder) override;
  std::string folder_of(const CheckpointId& checkpoint) const override;
  std::string scratch() const override;

  const std::string& folder() const { return folder_; }
  std::uint64_t run() const { return run_; }

 private:
  Result<void> choose_folder();
  void remove_drafts() const;
  Result<std::optional<experiment::CheckpointView>> latest() const;
  std::string checkpoints() const { return folder_ + "/checkpoints"; }
  std::string draft_of(const CheckpointId& checkpoint) const { return checkpoints() + "/." + checkpoint.value; }
  std::string card_of(const CheckpointId& checkpoint) const { return checkpoints() + "/" + checkpoint.value + ".json"; }
  void show(const experiment::requests::MetricReport& report);
  void check(const experiment::requests::MetricReport& report);

  const LocalOptions options_;
  std::string folder_;
  std::uint64_t run_ = 0;
  bool has_warned_ = false;  ///< about the metric
  const std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  std::map<std::string, std::chrono::steady_clock::time_point> shown_;  ///< when a group was shown last
};

}  // namespace cadre::client
