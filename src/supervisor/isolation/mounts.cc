#include "supervisor/isolation/mounts.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <sstream>

namespace cadre::supervisor {

namespace {

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

std::string name_in(const std::string& path) { return path.substr(path.rfind('/') + 1); }

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

namespace {

/// The folders that are there, without those that are in another of them.
std::vector<std::string> outermost(const std::vector<std::string>& folders) {
  std::vector<std::string> kept;
  for (const std::string& folder : folders) {
    struct stat found {};
    if (::lstat(folder.c_str(), &found) != 0 || !S_ISDIR(found.st_mode)) continue;
    if (std::ranges::any_of(kept, [&](const std::string& other) { return is_below(folder, other); })) continue;
    std::erase_if(kept, [&](const std::string& other) { return is_below(other, folder); });
    kept.push_back(folder);
  }
  return kept;
}

}  // namespace

Result<void> cover(const std::vector<std::string>& folders) {
  const auto what = [](const std::string& folder) { return "hiding " + folder; };
  std::vector<std::string> covered = outermost(folders);
  // Folders of others may be removed at any moment.
  while (!covered.empty() &&
         ::mount("empty", covered.front().c_str(), "tmpfs", MS_NOSUID | MS_NODEV, small_tmpfs) != 0) {
    if (errno != ENOENT && errno != ENOTDIR) return system_failure(what(covered.front()));
    covered.erase(covered.begin());
  }
  if (covered.size() <= 1) return {};
  const std::string& first = covered.front();
  const Descriptor files = open_point(first);
  if (!files) return system_failure(what(first));
  // The first one last: what is made here for the others must not be seen in it.
  for (std::size_t i = covered.size(); i-- > 0;) {
    const std::string name = std::to_string(i);
    if (::mkdirat(files.get(), name.c_str(), 0755) != 0) return system_failure(what(covered[i]));
    TRY_ASSIGN(mount, clone_mount(files.get(), name, what(covered[i])));
    const Result<void> attached = attach_mount(mount.get(), covered[i], what(covered[i]));
    if (!attached && open_point(covered[i])) return attached;
  }
  return {};
}

Result<void> cover_in(int mount, const std::string& folder) {
  const std::string what = "hiding " + folder;
  open_how how{};
  how.flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS;
  const Descriptor point(static_cast<int>(::syscall(SYS_openat2, mount, folder.c_str(), &how, sizeof(how))));
  if (!point && errno == ENOENT) return {};
  if (!point) return system_failure(what);
  const Descriptor context(::fsopen("tmpfs", FSOPEN_CLOEXEC));
  const auto set = [&](const char* key, const char* value) {
    return ::fsconfig(context.get(), FSCONFIG_SET_STRING, key, value, 0) == 0;
  };
  const bool is_made = context && set("mode", "0755") && set("size", "1m") && set("nr_inodes", "4096") &&
                       ::fsconfig(context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) == 0;
  const Descriptor empty(is_made ? ::fsmount(context.get(), FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)
                                 : -1);
  constexpr unsigned flags = MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH;
  if (!empty || ::move_mount(empty.get(), "", point.get(), "", flags) != 0) return system_failure(what);
  return {};
}

bool is_below(const std::string& path, const std::string& folder) {
  return path == folder || path.starts_with(folder == "/" ? folder : folder + "/");
}

namespace {

Descriptor open_path(const std::string& path, std::uint64_t resolve) {
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = resolve;
  return Descriptor(static_cast<int>(::syscall(SYS_openat2, AT_FDCWD, path.c_str(), &how, sizeof(how))));
}

}  // namespace

Descriptor open_point(const std::string& path) { return open_path(path, RESOLVE_NO_MAGICLINKS); }

Descriptor open_without_links(const std::string& path) { return open_path(path, RESOLVE_NO_SYMLINKS); }

void make_folders(const std::string& path) {
  if (open_point(path)) return;
  for (std::size_t slash = 0; slash != std::string::npos;) {
    slash = path.find('/', slash + 1);
    const std::string folder = path.substr(0, slash);
    if (open_point(folder)) continue;
    const Descriptor parent = open_point(folder_of(folder));
    if (!parent || ::mkdirat(parent.get(), name_in(folder).c_str(), 0755) != 0) return;
  }
}

namespace {

void make_file(const Descriptor& folder, const std::string& name) {
  const int flags = O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC;
  const Descriptor file(::openat(folder.get(), name.c_str(), flags, 0644));
}

}  // namespace

void make_point(const std::string& path, bool is_folder) {
  const mode_t before = ::umask(022);
  make_folders(is_folder ? path : folder_of(path));
  const Descriptor parent = open_point(folder_of(path));
  if (!is_folder && parent) make_file(parent, name_in(path));
  ::umask(before);
}

void make_point_beneath(const std::string& top, const std::string& path, bool is_folder) {
  const mode_t before = ::umask(022);
  Descriptor folder(::open(top.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  std::istringstream names(is_folder ? path : folder_of(path));
  for (std::string name; folder && std::getline(names, name, '/');) {
    if (name.empty()) continue;
    ::mkdirat(folder.get(), name.c_str(), 0755);
    folder = Descriptor(::openat(folder.get(), name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  }
  if (!is_folder && folder) make_file(folder, name_in(path));
  ::umask(before);
}

}  // namespace cadre::supervisor
