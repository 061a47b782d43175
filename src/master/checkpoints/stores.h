/// The stores in which checkpoints are kept, by the names that the master file gives them. Every function may block,
/// and may be called on any thread.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"
#include "describe/describe.h"
#include "experiment/ids.h"
#include "master/checkpoints/slow_calls.h"
#include "objects/store.h"

namespace cadre::master {

struct CheckpointSettings {
  static constexpr std::string_view doc = "Where checkpoints are stored.";
  std::map<std::string, objects::StoreConfig> stores;
  ByteSize file_max{std::int64_t{1} << 40};
  ByteSize uploads_max{std::int64_t{64} << 30};
};
template <class V>
void describe(V& v, CheckpointSettings& s) {
  v.field(
      "stores", s.stores,
      "Stores by name, for `checkpoints.store` of experiment files. The store `default`, if it is not set here, is a "
      "folder in the data folder of the master.");
  v.field("file_max", s.file_max, "Maximum size of a file.", at_least(ByteSize{1}));
  v.field("uploads_max", s.uploads_max, "Disk space of the master for files that are being uploaded.",
          at_least(ByteSize{1 << 20}));
}

class CheckpointStores {
 public:
  /// `folder` is for the store `default` and for uploads.
  CheckpointStores(CheckpointSettings settings, std::string folder);

  /// Opened when it is first asked for. `not_found` if there is no store of this name.
  [[nodiscard]] Result<objects::Store*> find(const std::string& name);
  /// Removes its files, also those that are on their way.
  [[nodiscard]] Result<void> remove(const std::string& store, const experiment::CheckpointId& checkpoint);
  /// The files of a checkpoint that are whole, with their sizes.
  [[nodiscard]] Result<std::map<std::string, std::int64_t>> files(const std::string& store,
                                                                  const experiment::CheckpointId& checkpoint);

  /// Files on their way into a store; a call is named by the key of the file and what tells its content.
  [[nodiscard]] SlowCalls<void>& puts();
  /// Parts of files on their way out of a store.
  [[nodiscard]] SlowCalls<Bytes>& gets();

  [[nodiscard]] bool has(const std::string& name) const { return name == own_store || settings_.stores.contains(name); }
  [[nodiscard]] const CheckpointSettings& settings() const { return settings_; }
  [[nodiscard]] std::string uploads_folder() const { return folder_ + "/uploads"; }

  static constexpr const char* own_store = "default";

 private:
  const CheckpointSettings settings_;
  const std::string folder_;
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<objects::Store>> open_;
  std::unique_ptr<SlowCalls<void>> puts_;  ///< their threads use the stores, and end before
  std::unique_ptr<SlowCalls<Bytes>> gets_;
};

/// The folder of a checkpoint in its store, with a slash at its end, and the key of a file in it.
[[nodiscard]] std::string folder_of(const experiment::CheckpointId& checkpoint);
[[nodiscard]] std::string key_of(const experiment::CheckpointId& checkpoint, const std::string& name);

}  // namespace cadre::master
