#include "supervisor/mounts.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <cerrno>

namespace cadre::supervisor {

namespace {

std::string parent_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

Result<Descriptor> clone_mount(int at, const std::string& path, const std::string& what) {
  const unsigned flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE;
  Descriptor tree(::open_tree(at, path.c_str(), flags | (path.empty() ? AT_EMPTY_PATH : 0)));
  if (!tree) return Failure(system_error(what, errno));
  return tree;
}

Result<void> set_flags(int mount, const mount_attr& flags, const std::string& what) {
  mount_attr copy = flags;
  if (::mount_setattr(mount, "", AT_EMPTY_PATH | AT_RECURSIVE, &copy, sizeof(copy)) != 0) {
    return Failure(system_error(what, errno));
  }
  return {};
}

Result<Descriptor> clone_writable(const std::string& path) {
  TRY_ASSIGN(mount, clone_mount(AT_FDCWD, path, path));
  mount_attr flags{};
  flags.attr_set = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
  flags.propagation = MS_PRIVATE;
  TRY(set_flags(mount.get(), flags, path));
  return mount;
}

Result<void> attach_mount(int mount, const std::string& target, const std::string& what) {
  const unsigned flags = MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_SYMLINKS;
  if (::move_mount(mount, "", AT_FDCWD, target.c_str(), flags) == 0) return {};
  return Failure(system_error(what, errno));
}

Result<void> cover(const std::string& folder) {
  struct stat found {};
  if (::lstat(folder.c_str(), &found) != 0 || !S_ISDIR(found.st_mode)) return {};
  if (::mount("empty", folder.c_str(), "tmpfs", MS_NOSUID | MS_NODEV, small_tmpfs) == 0) return {};
  return system_failure("hiding " + folder);
}

bool is_below(const std::string& path, const std::string& folder) {
  return path == folder || path.starts_with(folder == "/" ? folder : folder + "/");
}

void make_folders(const std::string& path) {
  for (std::size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1)) {
    ::mkdir(path.substr(0, slash).c_str(), 0755);
  }
  ::mkdir(path.c_str(), 0755);
}

void make_point(const std::string& path, bool is_folder) {
  const mode_t before = ::umask(022);
  make_folders(is_folder ? path : parent_of(path));
  if (!is_folder) const Descriptor file(::open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644));
  ::umask(before);
}

}  // namespace cadre::supervisor
