#include "client/trial/cluster_trial.h"

#include <fcntl.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "client/trial/file_transfer.h"

namespace cadre::client {
namespace {

using namespace std::chrono_literals;
namespace requests = experiment::requests;

/// One attempt to report; the reporter repeats it.
constexpr Duration report_wait = 5s;
constexpr std::int32_t transfer_connections_max = 4;
const std::string waits = "the trial waits for the master";

template <class T>
Result<void> without_value(const Result<T>& result) {
  return result ? Result<void>() : Result<void>(Failure(result.error()));
}

}  // namespace

ClusterTrial::ClusterTrial(experiment::TrialId trial, const rest::Endpoint& master)
    : trial_(trial), reports_(master, 1), calls_(master, transfer_connections_max) {}

Result<requests::Reported> ClusterTrial::send(const requests::ReportMetrics& batch) {
  return reports_.ask(batch, report_wait);
}

Result<void> ClusterTrial::send(const requests::ReportTrial& news) {
  return without_value(reports_.ask(news, report_wait));
}

Result<experiment::RunView> ClusterTrial::begin() {
  TRY_ASSIGN(run, calls_.ask_patiently(requests::BeginRun{trial_}, waits));
  if (run.checkpoint) {
    TRY_ASSIGN(checkpoint, find_checkpoint(run.checkpoint->id));
    run.checkpoint = std::move(checkpoint);
  }
  return run;
}

Result<void> ClusterTrial::declare(const requests::ReportTrial& news) {
  return without_value(calls_.ask_patiently(news, waits));
}

Result<void> ClusterTrial::begin_checkpoint(const CheckpointId& checkpoint) {
  return without_value(calls_.ask_patiently(requests::BeginCheckpoint{trial_, checkpoint}, waits));
}

Result<void> ClusterTrial::store_files(const CheckpointId& checkpoint, const std::string& folder,
                                       const std::vector<CheckpointFile>& files) {
  return calls_.run<void>([&](rest::Client& client) {
    return transfer_all(client, files, transfer_connections_max,
                        [&](const CheckpointFile& file) { return upload_file(client, checkpoint, folder, file); });
  });
}

Result<void> ClusterTrial::complete_checkpoint(const requests::CompleteCheckpoint& whole) {
  return without_value(calls_.ask_patiently(whole, "a checkpoint waits for the master"));
}

Result<experiment::CheckpointView> ClusterTrial::find_checkpoint(const CheckpointId& checkpoint) {
  return calls_.ask_patiently(requests::GetCheckpoint{checkpoint}, waits);
}

Result<void> ClusterTrial::fetch_files(const experiment::CheckpointView& checkpoint, const std::string& folder) {
  return calls_.run<void>([&](rest::Client& client) {
    return transfer_all(client, checkpoint.files, transfer_connections_max,
                        [&](const CheckpointFile& file) { return download_file(client, checkpoint.id, folder, file); });
  });
}

}  // namespace cadre::client
