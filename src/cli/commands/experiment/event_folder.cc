#include "cli/commands/experiment/event_folder.h"

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <utility>

#include "cli/commands/experiment/provenance.h"
#include "cli/files.h"

namespace cadre::cli {

Result<EventFolder> EventFolder::open(std::string folder, TimePoint now) {
  std::error_code ignored;
  const bool is_new = !std::filesystem::exists(folder, ignored);
  TRY(make_empty_folder(folder));
  EventFolder made;
  made.folder_ = std::move(folder);
  made.is_new_ = is_new;
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count();
  made.file_name_ =
      "events.out.tfevents." + std::to_string(seconds) + "." + host_name() + "." + std::to_string(::getpid()) + ".0";
  return made;
}

EventFolder::EventFolder(EventFolder&& other) noexcept
    : folder_(std::exchange(other.folder_, {})),
      is_new_(std::exchange(other.is_new_, false)),
      file_name_(std::move(other.file_name_)),
      made_(std::exchange(other.made_, {})),
      file_(std::move(other.file_)) {}

EventFolder::~EventFolder() {
  file_.close();
  for (const std::string& folder : made_) (void)loop::remove_all(folder);
  if (is_new_) ::rmdir(folder_.c_str());
}

Result<void> EventFolder::begin(experiment::TrialId trial) {
  const std::string folder = folder_ + "/" + to_string(trial);
  TRY(loop::make_folder(folder));
  made_.push_back(folder);
  TRY_ASSIGN(file, loop::File::open(draft(), O_WRONLY | O_CREAT | O_EXCL));
  file_ = std::move(file);
  return {};
}

Result<void> EventFolder::write(const std::string& records) { return file_.write(as_bytes(records)); }

Result<void> EventFolder::end() {
  TRY(file_.finish());
  return loop::rename_file(draft(), made_.back() + "/" + file_name_);
}

void EventFolder::finish() {
  made_.clear();
  is_new_ = false;
}

}  // namespace cadre::cli
