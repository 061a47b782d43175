#include "supervisor/isolation/view.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <utility>

#include "supervisor/isolation/mounts.h"
#include "supervisor/isolation/task_mounts.h"

namespace cadre::supervisor {

using cluster::supervision::Confinement;
using cluster::supervision::UnixUser;

namespace {

/// Replaced by empty ones. Control groups are there, since a task must not reach its own or others'.
constexpr std::array emptied{"/home", "/root", "/run", "/sys/fs/cgroup"};
constexpr std::array private_tmp{"/tmp", "/var/tmp"};

struct Node {
  const char* name;
  unsigned major;
  unsigned minor;
};
constexpr std::array nodes{Node{"null", 1, 3},   Node{"zero", 1, 5},    Node{"full", 1, 7},
                           Node{"random", 1, 8}, Node{"urandom", 1, 9}, Node{"tty", 5, 0}};

/// It is cheaper than to bind those of the host.
bool can_make_nodes() {
  static const bool can = ::geteuid() == 0 && ::prctl(PR_CAPBSET_READ, CAP_MKNOD) == 1;
  return can;
}

std::string real_path(const std::string& path) {
  std::array<char, PATH_MAX> real;
  return ::realpath(path.c_str(), real.data()) == nullptr ? "" : real.data();
}

bool is_folder(const std::string& path) {
  struct stat found {};
  return ::stat(path.c_str(), &found) == 0 && S_ISDIR(found.st_mode);
}

/// Something that is taken from the host's view and put into the task's.
struct Piece {
  Descriptor mount;
  std::string target;
  std::string what;  ///< for people, should it fail
  bool is_folder = true;
};

class Builder {
 public:
  explicit Builder(const View& view)
      : view_(view),
        confinement_(view.confinement),
        masks_(masks(confinement_)),
        mounts_(confinement_, view.folder + "/work") {}

  Result<void> build() {
    TRY(separate());
    TRY(hold_pieces());
    if (walled()) TRY(take_system());
    if (!walled()) TRY(cover(closed_above()));
    if (home_) TRY(attach(*home_));
    TRY(attach_all(shown_));
    TRY(cover(confinement_.hidden));
    TRY(attach_all(pieces_));
    return mounts_.attach();
  }

 private:
  bool walled() const { return view_.kind == View::Kind::walled; }

  Result<void> separate() {
    if (::unshare(CLONE_NEWNS | (walled() ? CLONE_NEWIPC : 0)) != 0) return system_failure("mount namespace");
    if (walled()) ::unshare(CLONE_NEWCGROUP);  // only names would be seen without it
    // Private: what is mounted on the host later would not be read-only here.
    if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return system_failure("mount namespace");
    return {};
  }

  /// Before anything is covered or made read-only.
  Result<void> hold_pieces() {
    TRY(hold("work", view_.folder + "/work", Access::write));
    TRY(hold("task.sock", view_.folder + "/task.sock", Access::write));
    if (!walled()) {
      TRY(hold("tmp", view_.folder + "/tmp", Access::write));
    } else {
      for (const char* folder : private_tmp) {
        if (::access(folder, F_OK) != 0) continue;
        TRY_ASSIGN(piece, hold_one("tmp", folder, Access::write));
        tmp_.push_back(std::move(piece));
      }
      for (const std::string& path : confinement_.shown) TRY(hold_shown(path, -1));
      for (const std::string& path : confinement_.shown_private) TRY(hold_shown(path, view_.id_map));
      for (const std::string& path : confinement_.devices) {
        if (::access(path.c_str(), F_OK) == 0) TRY(hold(path, path, Access::device));
      }
      for (const Node& node : nodes) {
        const std::string path = device_path(node);
        if (!can_make_nodes() && ::access(path.c_str(), F_OK) == 0) TRY(hold(path, path, Access::device));
      }
      if (!confinement_.passwd.empty()) TRY(hold(confinement_.passwd, "/etc/passwd", Access::read));
      if (!confinement_.group.empty()) TRY(hold(confinement_.group, "/etc/group", Access::read));
      if (!confinement_.runtime.empty()) {
        TRY(hold(confinement_.runtime, runtime_folder(confinement_), Access::write));
      }
      if (!confinement_.home.empty() && is_folder(confinement_.home)) {
        TRY_ASSIGN(home, hold_one(confinement_.home, confinement_.home, Access::write));
        home_ = std::move(home);
      }
    }
    return mounts_.hold();
  }

  enum class Access : std::uint8_t { read, write, device };

  static std::string device_path(const Node& node) { return std::string("/dev/") + node.name; }

  Result<Piece> hold_one(const std::string& source, const std::string& target, Access access) {
    const std::string what = "view of " + target;
    TRY_ASSIGN(mount, clone_mount(AT_FDCWD, source, what));
    mount_attr flags{};
    flags.attr_set = MOUNT_ATTR_NOSUID;
    if (access == Access::read) flags.attr_set |= MOUNT_ATTR_RDONLY;
    if (access != Access::device) flags.attr_set |= MOUNT_ATTR_NODEV;
    TRY(set_flags(mount.get(), flags, what));
    return Piece{std::move(mount), target, what, is_folder(source)};
  }

  Result<void> hold(const std::string& source, const std::string& target, Access access) {
    TRY_ASSIGN(piece, hold_one(source, target, access));
    pieces_.push_back(std::move(piece));
    return {};
  }

  /// What stays visible without our doing needs no place of its own.
  Result<void> hold_shown(const std::string& path, int id_map) {
    if (::access(path.c_str(), F_OK) != 0 || (!will_be_gone(path) && id_map < 0)) return {};
    const Descriptor opened = open_without_links(path);
    if (!opened) return system_failure("cannot show " + path);
    TRY_ASSIGN(piece, hold_one("/proc/self/fd/" + std::to_string(opened.get()), path, Access::read));
    if (id_map >= 0) {
      mount_attr flags{};
      flags.attr_set = MOUNT_ATTR_IDMAP;
      flags.userns_fd = static_cast<std::uint64_t>(id_map);
      TRY(set_flags(piece.mount.get(), flags,
                    "cannot show " + path + " to other users; make it readable for all on the agent"));
    }
    const auto holds = [&](const std::string& folder) { return is_below(path, folder); };
    const bool is_in_hidden = std::ranges::any_of(confinement_.hidden, holds);
    (is_in_hidden ? pieces_ : shown_).push_back(std::move(piece));
    return {};
  }

  bool will_be_gone(const std::string& path) const {
    const auto holds = [&](const std::string& folder) { return is_below(path, folder); };
    return is_below(path, "/dev") || std::ranges::any_of(masks_, holds) ||
           std::ranges::any_of(confinement_.hidden, holds) ||
           std::ranges::any_of(private_tmp, [&](const char* folder) { return is_below(path, folder); });
  }

  /// What another user could not pass on the way to the task's folder.
  std::vector<std::string> closed_above() const {
    std::vector<std::string> closed = confinement_.emptied;
    std::erase_if(closed, [&](const std::string& folder) { return !is_below(view_.folder, folder); });
    return closed;
  }

  static std::vector<std::string> masks(const Confinement& confinement) {
    std::vector<std::string> paths;
    for (const char* path : emptied) {
      if (std::string real = real_path(path); !real.empty()) paths.push_back(std::move(real));
    }
    paths.insert(paths.end(), confinement.emptied.begin(), confinement.emptied.end());
    return paths;
  }

  /// The whole system, read-only, with empty folders over what belongs to others.
  Result<void> take_system() {
    mount_attr flags{};
    flags.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID;
    if (::mount_setattr(AT_FDCWD, "/", AT_RECURSIVE, &flags, sizeof(flags)) != 0) {
      return system_failure("making the system read-only");
    }
    TRY(cover(masks_));
    TRY(make_devices());
    for (const Piece& piece : tmp_) TRY(attach(piece));
    if (view_.own_proc && ::mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) != 0) {
      return system_failure("own /proc");
    }
    if (view_.own_proc && !confinement_.user && ::geteuid() == 0) TRY(protect_kernel_settings());
    TRY(make_runtime());
    mounts_.make_points();
    return {};
  }

  /// Root could change them by the rights of the files alone.
  static Result<void> protect_kernel_settings() {
    for (const char* path : {"/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus"}) {
      if (::access(path, F_OK) != 0) continue;
      TRY_ASSIGN(mount, clone_mount(AT_FDCWD, path, path));
      mount_attr flags{};
      flags.attr_set = MOUNT_ATTR_RDONLY;
      TRY(set_flags(mount.get(), flags, path));
      TRY(attach_mount(mount.get(), path, path));
    }
    return {};
  }

  Result<void> make_devices() {
    if (::mount("dev", "/dev", "tmpfs", MS_NOSUID | MS_NOEXEC, small_tmpfs) != 0) return system_failure("own /dev");
    if (can_make_nodes()) {
      for (const Node& node : nodes) {
        const std::string path = device_path(node);
        if (::mknod(path.c_str(), S_IFCHR | 0666, ::makedev(node.major, node.minor)) != 0 ||
            ::chmod(path.c_str(), 0666) != 0) {
          return system_failure(path);
        }
      }
    }
    constexpr std::array links{std::pair{"/proc/self/fd", "/dev/fd"}, std::pair{"/proc/self/fd/0", "/dev/stdin"},
                               std::pair{"/proc/self/fd/1", "/dev/stdout"}, std::pair{"/proc/self/fd/2", "/dev/stderr"},
                               std::pair{"pts/ptmx", "/dev/ptmx"}};
    for (const auto& [to, from] : links) [[maybe_unused]] const int made = ::symlink(to, from);
    ::mkdir("/dev/shm", 0755);
    ::mkdir("/dev/pts", 0755);
    std::string options = "mode=1777";
    if (view_.memory.value > 0) options += ",size=" + std::to_string(view_.memory.value);
    if (::mount("shm", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, options.c_str()) != 0) {
      return system_failure("/dev/shm");
    }
    if (::mount("devpts", "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC, "newinstance,ptmxmode=0666,mode=0620") != 0) {
      return system_failure("/dev/pts");
    }
    return {};
  }

  Result<void> make_runtime() {
    const std::string folder = runtime_folder(confinement_);
    make_folders(folder);
    ::chmod(folder.c_str(), 0700);
    if (!confinement_.user) return {};
    const UnixUser& user = *confinement_.user;
    if (::chown(folder.c_str(), static_cast<uid_t>(user.uid), static_cast<gid_t>(user.gid)) == 0) return {};
    return system_failure(folder);
  }

  static Result<void> attach(const Piece& piece) {
    // All of the host is read-only by now, so that this changes nothing there.
    if (::access(piece.target.c_str(), F_OK) != 0) make_point(piece.target, piece.is_folder);
    return attach_mount(piece.mount.get(), piece.target, piece.what);
  }

  static Result<void> attach_all(const std::vector<Piece>& pieces) {
    for (const Piece& piece : pieces) TRY(attach(piece));
    return {};
  }

  const View& view_;
  const Confinement& confinement_;
  std::vector<std::string> masks_;  ///< folders of the system that are empty for a task
  std::vector<Piece> shown_;        ///< of the host; what is hidden in these is covered
  std::vector<Piece> pieces_;       ///< what is seen in any case
  std::vector<Piece> tmp_;
  std::optional<Piece> home_;
  TaskMounts mounts_;
};

}  // namespace

std::string runtime_folder(const Confinement& confinement) {
  return "/run/user/" + std::to_string(confinement.user ? confinement.user->uid : ::geteuid());
}

Result<void> take_view(const View& view) { return Builder(view).build(); }

Result<void> lock_view(int users) {
  if (::setns(users, CLONE_NEWUSER) == 0 && ::unshare(CLONE_NEWNS) == 0) return {};
  return system_failure("cannot lock the mounts of the task");
}

namespace {

struct IdMap {
  std::string uids;
  std::string gids;
};

Result<Descriptor> make_user_namespace(const IdMap& map) {
  TRY_ASSIGN(ready, make_pipe());
  TRY_ASSIGN(done, make_pipe());
  const pid_t child = ::fork();
  if (child < 0) return system_failure("fork");
  if (child == 0) {
    char nothing = ::unshare(CLONE_NEWUSER) == 0 ? 1 : 0;
    done.write.close();
    [[maybe_unused]] const ssize_t written = ::write(ready.write.get(), &nothing, 1);
    [[maybe_unused]] const ssize_t waited = ::read(done.read.get(), &nothing, 1);
    ::_exit(0);
  }
  char made = 0;
  const bool heard = ::read(ready.read.get(), &made, 1) == 1 && made == 1;
  const std::string about = "/proc/" + std::to_string(child);
  Result<Descriptor> users =
      fail(Errc::unavailable, "no user namespace can be made; see sysctl user.max_user_namespaces");
  if (heard && write_existing(about + "/uid_map", map.uids) && write_existing(about + "/gid_map", map.gids)) {
    users = Descriptor(::open((about + "/ns/user").c_str(), O_RDONLY | O_CLOEXEC));
  }
  done.write.close();
  ::waitpid(child, nullptr, 0);
  return users;
}

std::string one_id(std::int64_t inside, std::int64_t outside) {
  return std::to_string(inside) + " " + std::to_string(outside) + " 1";
}

}  // namespace

Result<Descriptor> make_id_map(const UnixUser& user) {
  return make_user_namespace({one_id(0, user.uid), one_id(0, user.gid)});
}

Result<Descriptor> make_users() {
  // It must belong to root: its owner has all rights in it, and here everybody is who they are.
  const std::string everybody = "0 0 4294967295";
  const IdMap map = ::geteuid() == 0 ? IdMap{everybody, everybody}
                                     : IdMap{one_id(::geteuid(), ::geteuid()), one_id(::getegid(), ::getegid())};
  return make_user_namespace(map);
}

}  // namespace cadre::supervisor
