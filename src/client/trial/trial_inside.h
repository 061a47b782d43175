/// What stands behind the parts of a cadre::core::Trial: the reports, the checkpoints and the processes of one trial.
/// Safe on any thread of the process that made it, as include/cadre/trial.h says.
#pragma once

#include <cadre/trial.h>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "client/gang/gang.h"
#include "client/trial/profiler.h"
#include "client/trial/reporter.h"
#include "client/trial/trial_backend.h"

namespace cadre::core::detail {

class TrialInside {
 public:
  [[nodiscard]] static Result<std::unique_ptr<TrialInside>> open(const InitOptions& options);
  TrialInside(const TrialInside&) = delete;
  TrialInside& operator=(const TrialInside&) = delete;
  ~TrialInside();
  /// Of a trial that a child process has inherited: leaves everything as it is.
  static void forget(std::unique_ptr<TrialInside> inside);

  const Info& info() const { return info_; }
  const client::GangPlace& place() const { return place_; }
  bool is_chief() const { return place_.rank == 0; }
  bool is_own() const;  ///< of this process, not of its parent
  bool is_closed() const { return is_closed_; }

  // Reports.
  [[nodiscard]] Result<void> report(std::string_view group, std::int64_t steps, const Data& metrics);
  [[nodiscard]] Result<void> report_progress(double progress);
  [[nodiscard]] Result<void> set_status(std::string_view text);
  [[nodiscard]] Result<void> declare_invalid();
  [[nodiscard]] Result<void> flush();

  // Checkpoints.
  /// A new UUID, the same on all ranks that contribute.
  [[nodiscard]] Result<std::string> new_checkpoint(Shard shard);
  [[nodiscard]] Result<void> upload(const Checkpoints::Store& store, std::int64_t steps, const Data& metadata,
                                    Shard shard);
  [[nodiscard]] Result<void> download(std::string_view uuid, const std::string& folder);
  [[nodiscard]] Result<CheckpointInfo> find(std::string_view uuid);
  [[nodiscard]] Result<Checkpoints::Store> open_store(Shard shard);
  [[nodiscard]] Result<std::string> open_restore(std::string_view uuid);
  void release(const std::string& folder);

  // Preemption and search.
  [[nodiscard]] Result<bool> should_stop();
  [[nodiscard]] std::optional<Stop> stop();
  [[nodiscard]] Result<void> acknowledge();
  std::int64_t until() const { return until_; }
  [[nodiscard]] Result<std::optional<std::int64_t>> next_until();

  // The other processes.
  [[nodiscard]] Result<std::vector<Bytes>> gather(BytesView bytes);
  [[nodiscard]] Result<std::vector<Bytes>> allgather(BytesView bytes);
  [[nodiscard]] Result<Bytes> broadcast(BytesView bytes);
  [[nodiscard]] Result<void> allreduce(std::span<std::byte> numbers, client::NumberKind kind, client::Reduction how);

  [[nodiscard]] Result<void> profile(Duration interval);
  void end_profile();

  [[nodiscard]] Result<void> close(Duration most);

 private:
  TrialInside();
  Result<void> begin(const InitOptions& options);
  /// What rank 0 has learned, on all ranks.
  Result<experiment::RunView> begin_run();
  Result<void> check_use() const;
  Context& context();
  /// Without attaching the task.
  std::optional<Stop> known_stop();

  // Checkpoints (trial_checkpoints.cc).
  bool is_shared(Shard shard) const { return shard == Shard::yes && gang_ != nullptr; }
  Result<experiment::CheckpointView> find_view(std::string_view uuid);
  Result<std::vector<client::Share>> all_shares(const std::string& folder, Shard shard);
  /// The error of the first rank that has one, on all ranks.
  Result<void> agree(Result<void> own, Shard shard);
  Result<std::string> make_scratch();
  Result<std::string> restore(const experiment::CheckpointView& view);

  const pid_t pid_;
  experiment::TrialId trial_;
  Info info_;
  client::GangPlace place_;
  std::unique_ptr<client::Gang> gang_;  ///< null: this process is the only one
  std::unique_ptr<client::TrialBackend> backend_;
  std::unique_ptr<client::Reporter> reporter_;
  std::unique_ptr<client::Profiler> profiler_;
  std::atomic<std::int64_t> until_ = 0;
  bool has_begun_operation_ = false;

  std::mutex mutex_;
  std::optional<Context> context_;  ///< once it is needed: it changes how the task is stopped
  struct Scratch {
    bool is_own = true;      ///< this process removes it
    bool is_shared = false;  ///< with other ranks, which must be done with it before
  };
  std::map<std::string, Scratch> scratches_;
  std::atomic<bool> is_closed_ = false;
};

[[nodiscard]] CheckpointInfo info_of(const experiment::CheckpointView& view);

}  // namespace cadre::core::detail
