#include "agent/process/task_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <thread>

#include "base/rounded.h"
#include "describe/describe.h"
#include "loop/file.h"

namespace cadre::agent {
namespace {

namespace fs = std::filesystem;
namespace supervision = cluster::supervision;

constexpr std::size_t spare_max = 128;  // more than an agent runs at a time without slots
/// A supervisor that no agent has adopted needs so long to end its task.
constexpr Duration ending_max = std::chrono::seconds(10);

std::string name_of(const cluster::LeaseId& lease) {
  std::string name = cluster::to_string(lease);
  std::replace(name.begin(), name.end(), '/', '-');
  return name;
}

std::optional<supervision::Launch> read_launch(const std::string& path) {
  const auto text = loop::read_own_file(path);
  if (!text) return std::nullopt;
  auto launch = describe::read_msgpack<supervision::Launch>(as_bytes(*text));
  if (!launch) return std::nullopt;
  return *std::move(launch);
}

/// A folder as we make them: what a task changed about it would reach the next one.
bool is_plain_folder(const fs::path& path) {
  struct stat facts {};
  return ::lstat(path.c_str(), &facts) == 0 && facts.st_mode == (S_IFDIR | 0700) && facts.st_uid == ::geteuid();
}

/// Whether nobody has changed it: a supervisor that cannot be sure that all has ended does.
bool has_usual_rights(const std::string& folder) {
  struct stat facts {};
  return ::lstat(folder.c_str(), &facts) == 0 && facts.st_mode == (S_IFDIR | 0700);
}

/// A file as we make them, and nothing that a task has put in its place.
bool is_plain_file(const fs::path& path) {
  struct stat facts {};
  return ::lstat(path.c_str(), &facts) == 0 && facts.st_mode == (S_IFREG | 0600) && facts.st_uid == ::geteuid() &&
         facts.st_nlink == 1;
}

/// Keeps the ending, with nothing in it, under the name by which the next supervisor reserves it.
bool keep_ending(const std::string& path) {
  auto file = loop::File::open_own(path, O_WRONLY);
  return file && file->truncate(0) && loop::rename_file(path, path + ".new");
}

/// Leaves only what makes the next task start sooner; false when that is not sure. Without an ending the supervisor was
/// killed, and processes of the task may still be dying in there. First the launch goes: without it there is no task.
bool clean(const std::string& folder) {
  if (!is_plain_folder(folder) || !is_plain_file(folder + "/ending") || is_supervised(folder)) return false;
  if (!has_usual_rights(folder + "/work") || !has_usual_rights(folder + "/tmp")) return false;
  if (::unlink((folder + "/launch").c_str()) != 0 || !keep_ending(folder + "/ending")) return false;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename();
    // Also those that tasks write in: somebody may hold a descriptor of such a folder for longer than the task lived.
    if (name != "ending.new" && !loop::remove_all(entry->path())) return false;
  }
  return !error && loop::make_folder(folder + "/work");
}

/// Whether no supervisor is there any more by then.
bool wait_until_alone(const std::string& folder, std::chrono::steady_clock::time_point end) {
  while (is_supervised(folder)) {
    if (std::chrono::steady_clock::now() >= end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

/// Whether the supervisor in this folder, if there is one, can be adopted. One that speaks another protocol cannot: it
/// is left alone until it has ended its task, so that the slots are free. False: it goes on.
bool can_be_adopted_or_ends(const std::string& folder, const supervision::Launch& launch, Log& log) {
  const std::string task = cluster::to_string(launch.lease.task);
  const auto mismatch = protocol::mismatch("the supervisor of task " + task, launch.protocols, "the agent");
  if (!mismatch || !is_supervised(folder)) return true;
  const Duration wait = launch.abandon_after + ending_max;
  log.error(*mismatch + ". The task is not adopted; waiting up to " + rounded(wait) +
            " until its supervisor has ended it");
  if (wait_until_alone(folder, std::chrono::steady_clock::now() + wait)) return true;
  log.error("the task in " + folder + " did not end; kill its processes and start the agent again");
  return false;
}

/// All of it; the launch first.
Result<void> remove_tree(const std::string& folder) {
  ::unlink((folder + "/launch").c_str());
  return loop::remove_all(folder);
}

}  // namespace

TaskFolder::TaskFolder(const std::string& tasks, const cluster::LeaseId& lease) : path_(tasks + "/" + name_of(lease)) {}

Result<void> TaskFolder::write_launch(const supervision::Launch& launch) const {
  return loop::write_whole(path_ + "/launch", describe::write_msgpack(launch), loop::Durable::no);
}

bool TaskFolder::was_begun() const {
  struct stat facts {};
  return ::lstat((path_ + "/task.sock").c_str(), &facts) == 0;
}

std::optional<cluster::TaskEnding> TaskFolder::ending(cluster::SealRequired required) const {
  const auto bytes = loop::read_own_file(path_ + "/ending");
  if (!bytes) return std::nullopt;
  auto ending = cluster::unseal(as_bytes(*bytes), required);
  if (!ending) return std::nullopt;
  return *std::move(ending);
}

void TaskFolder::remove_ending() const { ::unlink((path_ + "/ending").c_str()); }

TaskFolder TaskFolders::at(const cluster::LeaseId& lease) const { return {tasks_, home_of(lease)}; }

cluster::LeaseId TaskFolders::home_of(const cluster::LeaseId& lease) const {
  const std::scoped_lock lock(mutex_);
  const auto found = homes_.find(lease);
  return found == homes_.end() ? lease : found->second;
}

void TaskFolders::settle(const cluster::LeaseId& lease, const cluster::LeaseId& home) {
  const std::scoped_lock lock(mutex_);
  homes_[lease] = home;
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

Result<void> TaskFolders::give_back(const TaskFolder& folder) {
  std::string spare;
  {
    const std::scoped_lock lock(mutex_);
    std::erase_if(homes_, [&](const auto& one) { return TaskFolder(tasks_, one.second).path() == folder.path(); });
    if (spare_.size() < spare_max) spare = tasks_ + "/spare-" + std::to_string(++last_spare_);
  }
  if (!spare.empty() && clean(folder.path()) && ::rename(folder.path().c_str(), spare.c_str()) == 0) {
    const std::scoped_lock lock(mutex_);
    spare_.push_back(std::move(spare));
    return {};
  }
  return remove_tree(folder.path());
}

std::vector<FoundTask> find_tasks(const std::string& tasks, const std::string& boot, Log& log) {
  const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  std::vector<FoundTask> found;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(tasks, error)) {
    const std::string path = entry.path();
    auto launch = read_launch(path + "/launch");
    const bool is_its_own = launch && TaskFolder(tasks, launch->home()).path() == path;
    if (is_its_own && !launch->waits() && !launch->prepares) {
      if (!can_be_adopted_or_ends(path, *launch, log)) continue;
      const TaskFolder folder(tasks, launch->home());
      const bool rebooted = !launch->boot.empty() && launch->boot != boot;
      auto ending = folder.ending(rebooted ? cluster::SealRequired::yes : cluster::SealRequired::no);
      found.push_back({launch->lease, *std::move(launch), std::move(ending), rebooted});
    } else if (is_its_own && launch->prepares && wait_until_alone(path, patience)) {
      // The master may have output of its setup already: the same lease must not begin again.
      cluster::TaskEnding lost{
          cluster::lease::Reason::agent_lost, 0, "its agent was killed while its setup ran", {}, 0};
      found.push_back({launch->lease, *std::move(launch), std::move(lost), false});
    } else if (is_its_own && launch->is_template && is_supervised(path)) {
      // It outlives the tasks that were forked from it.
    } else if (is_its_own && !wait_until_alone(path, patience)) {
      log.warning("a warm process is still in " + path);
    } else if (is_supervised(path)) {
      log.warning("a task of another version runs in " + path + "; its supervisor will end it");
    } else if (const Result<void> removed = remove_tree(path); !removed) {
      log.warning("cannot remove the folder of a task: " + removed.error().message);
    }
  }
  return found;
}

std::vector<std::string> unsupervised_folders(const std::string& tasks) {
  std::vector<std::string> folders;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(tasks, error)) {
    const std::string path = entry.path();
    if (!entry.path().filename().string().starts_with("spare-") && !is_supervised(path)) folders.push_back(path);
  }
  return folders;
}

Supervised supervised(const std::string& tasks) {
  Supervised all;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(tasks, error)) {
    const std::string path = entry.path();
    if (!is_supervised(path)) continue;
    const auto launch = read_launch(path + "/launch");
    if (!launch) continue;
    all.homes.insert(launch->home());
    if (launch->is_template) all.templates.push_back(path);
  }
  return all;
}

bool is_supervised(const std::string& folder) {
  const loop::Descriptor launch(::open((folder + "/launch").c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW));
  return launch && ::flock(launch.get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

}  // namespace cadre::agent
