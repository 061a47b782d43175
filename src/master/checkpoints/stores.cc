#include "master/checkpoints/stores.h"

#include <filesystem>
#include <utility>

namespace cadre::master {

std::string folder_of(const experiment::CheckpointId& checkpoint) { return "checkpoints/" + checkpoint.value + "/"; }

std::string key_of(const experiment::CheckpointId& checkpoint, const std::string& name) {
  return folder_of(checkpoint) + name;
}

CheckpointStores::CheckpointStores(CheckpointSettings settings, std::string folder)
    : settings_(std::move(settings)), folder_(std::move(folder)) {}

Result<objects::Store*> CheckpointStores::find(const std::string& name) {
  const std::lock_guard lock(mutex_);
  if (const auto found = open_.find(name); found != open_.end()) return found->second.get();
  const auto known = settings_.stores.find(name);
  objects::StoreConfig config;
  if (known != settings_.stores.end()) {
    config = known->second;
  } else if (name == own_store) {
    const std::string path = folder_ + "/store";
    std::error_code error;
    std::filesystem::create_directories(path, error);  // the umask of a master keeps it private
    if (error) return fail(Errc::unavailable, "cannot create " + path + ": " + error.message());
    config = objects::FileStoreConfig{path};
  } else {
    return fail(Errc::not_found, "there is no store '" + name +
                                     "' for checkpoints; an admin can add it to checkpoints.stores in the master file");
  }
  TRY_ASSIGN(opened, objects::open(config));
  return (open_[name] = std::move(opened)).get();
}

Result<void> CheckpointStores::remove(const std::string& store, const experiment::CheckpointId& checkpoint) {
  TRY_ASSIGN(opened, find(store));
  TRY_ASSIGN(count, objects::remove_folder(*opened, folder_of(checkpoint)));
  static_cast<void>(count);
  return {};
}

}  // namespace cadre::master
