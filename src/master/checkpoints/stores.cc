#include "master/checkpoints/stores.h"

#include <filesystem>
#include <utility>

#include "experiment/requests/trials.h"

namespace cadre::master {
namespace {

constexpr SlowCallLimits put_limits{4, 10'000, 1'000};
/// Outcomes are parts of files.
constexpr SlowCallLimits get_limits{4, 10'000, 16};

}  // namespace

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
  puts().cancel(folder_of(checkpoint));
  TRY_ASSIGN(count, objects::remove_folder(*opened, folder_of(checkpoint)));
  static_cast<void>(count);
  return {};
}

Result<std::map<std::string, std::int64_t>> CheckpointStores::files(const std::string& store,
                                                                    const experiment::CheckpointId& checkpoint) {
  TRY_ASSIGN(opened, find(store));
  const std::string folder = folder_of(checkpoint);
  std::map<std::string, std::int64_t> found;
  std::string after;
  do {
    TRY_ASSIGN(page, opened->list(folder, after));
    for (const objects::ListedObject& object : page.objects) found[object.key.substr(folder.size())] = object.size;
    after = page.next;
  } while (!after.empty() && found.size() <= experiment::requests::checkpoint_files_most);
  if (found.size() <= experiment::requests::checkpoint_files_most) return found;
  return fail(Errc::invalid, "checkpoint " + checkpoint.value + " has more than " +
                                 std::to_string(experiment::requests::checkpoint_files_most) +
                                 " files; pack them into fewer files");
}

SlowCalls<void>& CheckpointStores::puts() {
  const std::lock_guard lock(mutex_);
  if (!puts_) puts_ = std::make_unique<SlowCalls<void>>(put_limits);
  return *puts_;
}

SlowCalls<Bytes>& CheckpointStores::gets() {
  const std::lock_guard lock(mutex_);
  if (!gets_) gets_ = std::make_unique<SlowCalls<Bytes>>(get_limits);
  return *gets_;
}

}  // namespace cadre::master
