/// The files of checkpoints as a part of a master. It has no state of its own and no requests that pass the control
/// loop: its bulk side takes files of tasks, which see neither a key of a store nor its folder, and gives them back.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>

#include "api/part.h"
#include "experiment/requests/objects.h"
#include "loop/thread_pool.h"
#include "master/bulk/bulk_part.h"
#include "master/checkpoints/stores.h"
#include "objects/file_store.h"

namespace cadre::master {

/// Pure; one thread at a time.
class CheckpointPart final : public api::Part {
 public:
  static constexpr std::string_view name = "checkpoints";
  using Settings = CheckpointSettings;
  using RowTypes = std::tuple<>;
  [[nodiscard]] static api::PartType type();

  std::optional<api::Reply> serve(const api::Call&, const api::Request&) override { return std::nullopt; }
  api::Outcome settle(const api::Now&) override { return {}; }
};

/// For the thread of its loop.
class CheckpointFiles final : public BulkPart {
 public:
  /// `stores` is shared with the shell that removes checkpoints.
  CheckpointFiles(const Dependencies& dependencies, std::shared_ptr<CheckpointStores> stores);

  std::vector<api::Reply> serve(std::span<const BulkCall> calls) override;

 private:
  [[nodiscard]] Result<api::Reply> put(const BulkCall& call);
  /// Puts a file that is whole into its store; nothing: that is under way.
  [[nodiscard]] std::optional<Result<void>> store(objects::Store& store, const experiment::requests::PutFile& request);
  [[nodiscard]] Result<api::Reply> read(const BulkCall& call);
  Result<objects::FileStore*> uploads();

  Dependencies deps_;
  std::shared_ptr<CheckpointStores> stores_;
  std::unique_ptr<objects::FileStore> uploads_;  ///< opened for the first upload
  std::map<std::string, std::string> failures_;  ///< why files could not be stored before, by key
};

}  // namespace cadre::master
