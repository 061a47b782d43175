#include "supervisor/isolation/task_mounts.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <optional>
#include <utility>

#include "supervisor/isolation/mounts.h"

namespace cadre::supervisor {

using cluster::Mount;

namespace {

std::string path_of(const Descriptor& opened) {
  std::array<char, PATH_MAX> path;
  const ssize_t size = ::readlink(("/proc/self/fd/" + std::to_string(opened.get())).c_str(), path.data(), path.size());
  return size < 0 ? "" : std::string(path.data(), static_cast<std::size_t>(size));
}

/// Whether it is on what shows the kernel, or among the devices of the task.
bool is_of_kernel(const Descriptor& point) {
  struct statfs system {};
  struct stat facts {};
  struct stat devices {};
  if (::fstatfs(point.get(), &system) != 0 || ::fstat(point.get(), &facts) != 0) return true;
  return system.f_type == PROC_SUPER_MAGIC || system.f_type == SYSFS_MAGIC ||
         (::stat("/dev", &devices) == 0 && facts.st_dev == devices.st_dev);
}

}  // namespace

Result<AsUser> TaskMounts::as_opener() const {
  return AsUser::take(confinement_.mounts_as_agent ? std::nullopt : confinement_.user);
}

Result<void> TaskMounts::hold() {
  for (const Mount& mount : confinement_.mounts) {
    TRY_ASSIGN(held, hold_one(mount));
    held_.push_back(std::move(held));
  }
  return {};
}

Result<Descriptor> TaskMounts::open_source(const Mount& mount, const std::string& what) const {
  TRY_ASSIGN(opener, as_opener());
  Descriptor opened = open_without_links(mount.source);
  if (opened) return opened;
  if (errno == ENOENT) return system_failure("cannot mount '" + mount.source + "', which does not exist on this agent");
  if (errno == EACCES) return fail(Errc::denied, what + ": the user of the task has no access to it on the host");
  return system_failure(what);
}

Result<TaskMounts::Held> TaskMounts::hold_one(const Mount& mount) const {
  const std::string what = "cannot mount '" + mount.source + "' at '" + mount.target + "'";
  TRY_ASSIGN(opened, open_source(mount, what));
  const std::string source = path_of(opened);
  if (source.empty()) return Failure(system_error(what, errno));
  for (const std::string& hidden : confinement_.hidden) {
    if (!is_below(source, hidden)) continue;
    return fail(Errc::denied, what + ": it belongs to a master or an agent of cadre; mount another folder");
  }
  struct stat facts {};
  if (::fstat(opened.get(), &facts) != 0) return Failure(system_error(what, errno));
  TRY_ASSIGN(tree, clone_mount(opened.get(), "", what));
  mount_attr flags{};
  flags.attr_set = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | (mount.writable ? 0 : MOUNT_ATTR_RDONLY);
  TRY(set_flags(tree.get(), flags, what));
  const std::string target = mount.target.starts_with('/') ? mount.target : work_ + "/" + mount.target;
  return Held{std::move(tree), source, target, what, S_ISDIR(facts.st_mode)};
}

void TaskMounts::make_points() const {
  for (const Held& held : held_) {
    if (::access(held.target.c_str(), F_OK) != 0) make_point(held.target, held.is_folder);
  }
}

Result<void> TaskMounts::attach() const {
  if (held_.empty()) return {};
  {
    TRY_ASSIGN(opener, as_opener());
    make_points();
  }
  for (const Held& held : held_) TRY(attach_one(held));
  return {};
}

Result<void> TaskMounts::attach_one(const Held& held) const {
  {
    TRY_ASSIGN(opener, as_opener());
    const Descriptor point = open_point(held.target);
    if (point && is_of_kernel(point)) {
      return fail(Errc::denied, held.what + "; choose a place outside of /proc, /sys and /dev");
    }
    constexpr unsigned flags = MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH;
    if (!point || ::move_mount(held.mount.get(), "", point.get(), "", flags) != 0) {
      return Failure(system_error(held.what, errno));
    }
  }
  for (const std::string& hidden : confinement_.hidden) {
    if (!is_below(hidden, held.source)) continue;
    const std::string inside = hidden.substr(held.source == "/" ? 1 : held.source.size());
    TRY(cover_in(held.mount.get(), inside.substr(inside.find_first_not_of('/'))));
  }
  return {};
}

}  // namespace cadre::supervisor
