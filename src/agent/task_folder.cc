#include "agent/task_folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "describe/describe.h"
#include "loop/file.h"

namespace cadre::agent {
namespace {

namespace fs = std::filesystem;
namespace supervision = cluster::supervision;

constexpr std::size_t spare_max = 64;

std::string name_of(const cluster::LeaseId& lease) {
  std::string name = cluster::to_string(lease);
  std::replace(name.begin(), name.end(), '/', '-');
  return name;
}

template <class T>
std::optional<T> read_value(const std::string& path) {
  const auto text = loop::read_file(path);
  if (!text) return std::nullopt;
  auto value = describe::read_msgpack<T>(as_bytes(*text));
  if (!value) return std::nullopt;
  return *std::move(value);
}

/// A folder as we make them: what a task changed about it would reach the next one.
bool is_plain_folder(const fs::path& path) {
  struct stat facts {};
  return ::lstat(path.c_str(), &facts) == 0 && facts.st_mode == (S_IFDIR | 0700) && facts.st_uid == ::geteuid();
}

void empty(const fs::path& folder) {
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) fs::remove_all(entry.path());
}

/// Keeps the files that every task has, under the names that they are written by, with nothing in them.
bool keep_file(const fs::path& path) {
  const std::string draft = path.string() + ".new";
  return ::truncate(path.c_str(), 0) == 0 && ::rename(path.c_str(), draft.c_str()) == 0;
}

/// Leaves only what makes the next task start sooner; false when that is not sure. Without an ending the supervisor was
/// killed, and processes of the task may still be dying in there.
bool clean(const std::string& folder) {
  if (!is_plain_folder(folder) || ::access((folder + "/ending").c_str(), F_OK) != 0) return false;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename();
    if (name == "work" || name == "tmp") {
      if (!is_plain_folder(entry.path())) return false;
      empty(entry.path());
    } else if (name == "launch" || name == "ending") {
      if (!keep_file(entry.path())) return false;
    } else if (name != "launch.new" && name != "ending.new") {
      fs::remove_all(entry.path());
    }
  }
  return true;
}

}  // namespace

TaskFolder::TaskFolder(const std::string& tasks, const cluster::LeaseId& lease) : path_(tasks + "/" + name_of(lease)) {}

Result<void> TaskFolder::write_launch(const supervision::Launch& launch) const {
  return loop::write_whole(path_ + "/launch", describe::write_msgpack(launch));
}

std::optional<cluster::TaskEnding> TaskFolder::ending() const {
  return read_value<cluster::TaskEnding>(path_ + "/ending");
}

Result<TaskFolder> TaskFolders::make(const cluster::LeaseId& lease) {
  TaskFolder folder = at(lease);
  std::string spare;
  {
    const std::scoped_lock lock(mutex_);
    if (!spare_.empty()) {
      spare = std::move(spare_.back());
      spare_.pop_back();
    }
  }
  if (!spare.empty() && ::rename(spare.c_str(), folder.path().c_str()) == 0) return folder;
  TRY(loop::make_folder(folder.work()));
  return folder;
}

void TaskFolders::give_back(const TaskFolder& folder) {
  std::string spare;
  {
    const std::scoped_lock lock(mutex_);
    if (spare_.size() < spare_max) spare = tasks_ + "/spare-" + std::to_string(++last_spare_);
  }
  std::error_code failed;  // what cannot go now goes at the next start
  try {
    if (!spare.empty() && clean(folder.path()) && ::rename(folder.path().c_str(), spare.c_str()) == 0) {
      const std::scoped_lock lock(mutex_);
      spare_.push_back(std::move(spare));
      return;
    }
  } catch (const fs::filesystem_error&) {
    failed.clear();
  }
  fs::remove_all(folder.path(), failed);
}

std::vector<FoundTask> find_tasks(const std::string& tasks) {
  std::vector<FoundTask> found;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(tasks, error)) {
    auto launch = read_value<supervision::Launch>(entry.path().string() + "/launch");
    if (!launch) {
      fs::remove_all(entry.path(), error);
      continue;
    }
    const TaskFolder folder(tasks, launch->lease);
    found.push_back({launch->lease, *std::move(launch), folder.ending()});
  }
  return found;
}

}  // namespace cadre::agent
