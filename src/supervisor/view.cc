#include "supervisor/view.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "supervisor/descriptor.h"

namespace cadre::supervisor {

namespace {

constexpr std::array private_folders{"/tmp", "/var/tmp"};

/// The thing itself, whatever is mounted over its path later.
Result<Descriptor> hold(const std::string& path, const std::string& what) {
  Descriptor thing(::open(path.c_str(), O_PATH | O_CLOEXEC));
  if (!thing) return Failure(system_error(what, errno));
  return thing;
}

Result<void> bind_to(const Descriptor& source, const std::string& target, const std::string& what) {
  const std::string from = "/proc/self/fd/" + std::to_string(source.get());
  if (::mount(from.c_str(), target.c_str(), nullptr, MS_BIND | MS_REC, nullptr) != 0) {
    return Failure(system_error(what, errno));
  }
  return {};
}

bool is_below(const std::string& path, const std::string& folder) {
  return path == folder || path.starts_with(folder + "/");
}

bool is_in_private_tmp(const std::string& path) {
  return std::ranges::any_of(private_folders, [&](const char* folder) { return is_below(path, folder); });
}

std::string parent_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

void make_folders(const std::string& path) {
  for (std::size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1)) {
    ::mkdir(path.substr(0, slash).c_str(), 0700);
  }
  ::mkdir(path.c_str(), 0700);
}

/// Covers the folder that holds those of all tasks, if there is such a one, with one in memory that holds a place for
/// ours only.
Result<void> hide_others(const std::string& folder) {
  const std::string parent = parent_of(folder);
  struct stat found {};
  if (parent.empty() || ::stat(parent.c_str(), &found) != 0 || (found.st_mode & 0777) != 0700) return {};
  if (::mount("cadre", parent.c_str(), "tmpfs", MS_NOSUID | MS_NODEV, "mode=0700,size=64k,nr_inodes=8") != 0 ||
      ::mkdir(folder.c_str(), 0700) != 0) {
    return system_failure("hiding other tasks in " + parent);
  }
  return {};
}

Result<void> make_read_only(const std::string& target, const std::string& what) {
  mount_attr attributes{};
  attributes.attr_set = MOUNT_ATTR_RDONLY;
  if (::mount_setattr(AT_FDCWD, target.c_str(), AT_RECURSIVE, &attributes, sizeof(attributes)) != 0) {
    return Failure(system_error(what + " read-only", errno));
  }
  return {};
}

/// A place to mount on is made only where the host does not see it.
void make_target(const Descriptor& source, const std::string& target, const View& view) {
  if (::access(target.c_str(), F_OK) == 0) return;
  if (!is_in_private_tmp(target) && !is_below(target, view.folder)) return;
  struct stat found {};
  if (::fstat(source.get(), &found) == 0 && S_ISDIR(found.st_mode)) return make_folders(target);
  make_folders(parent_of(target));
  const Descriptor file(::open(target.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
}

Result<void> mount_one(const cluster::Mount& mount, const Descriptor& source, const View& view) {
  const std::string target = mount.target.starts_with('/') ? mount.target : view.work + "/" + mount.target;
  const std::string what = "cannot mount '" + mount.source + "' at '" + mount.target + "'";
  make_target(source, target, view);
  TRY(bind_to(source, target, what));
  return mount.read_only ? make_read_only(target, what) : Result<void>{};
}

}  // namespace

Result<void> take_view(const View& view) {
  if (::unshare(CLONE_NEWNS) != 0) return system_failure("mount namespace");
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0) return system_failure("mount namespace");
  // Only what is opened inside the new namespace can be mounted there, and only before it is covered.
  std::vector<Descriptor> sources;
  for (const cluster::Mount& mount : view.mounts) {
    TRY_ASSIGN(source, hold(mount.source, "cannot mount '" + mount.source + "', which this agent lacks"));
    sources.push_back(std::move(source));
  }
  TRY_ASSIGN(own, hold(".", view.folder));
  TRY_ASSIGN(tmp, hold("tmp", view.folder + "/tmp"));
  if (!is_in_private_tmp(view.folder)) TRY(hide_others(view.folder));
  for (const char* folder : private_folders) {
    if (::access(folder, F_OK) == 0) TRY(bind_to(tmp, folder, std::string("private ") + folder));
  }
  if (is_in_private_tmp(view.folder)) make_folders(view.folder);
  TRY(bind_to(own, view.folder, "own folder"));
  for (std::size_t i = 0; i < sources.size(); ++i) TRY(mount_one(view.mounts[i], sources[i], view));
  if (view.own_proc && ::mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) != 0)
    return system_failure("own /proc");
  return {};
}

}  // namespace cadre::supervisor
