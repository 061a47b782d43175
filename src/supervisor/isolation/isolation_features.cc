#include "supervisor/isolation/isolation_features.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "supervisor/descriptor.h"

namespace cadre::supervisor {

namespace {

/// Whether a child process can do it.
bool child_can(const std::function<bool()>& attempt) {
  const pid_t child = ::fork();
  if (child < 0) return false;
  if (child == 0) ::_exit(attempt() ? 0 : 1);
  int status = 0;
  return ::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool can_mount() {
  mount_attr read_only{};
  read_only.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID;
  return ::unshare(CLONE_NEWNS | CLONE_NEWIPC) == 0 &&
         ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         Descriptor(::open_tree(AT_FDCWD, "/tmp", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE)) &&
         ::mount_setattr(AT_FDCWD, "/", AT_RECURSIVE, &read_only, sizeof(read_only)) == 0 &&
         ::mount("cadre", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, "size=64k") == 0;
}

/// What a task sees, so that nothing of it falls off when the task ends.
bool can_lock() { return ::unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0; }

bool can_number_processes() {
  return ::unshare(CLONE_NEWPID) == 0 && child_can([] {
           return can_mount() && ::mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) == 0 &&
                  can_lock();
         });
}

}  // namespace

Result<void> enter_user_namespace() {
  const std::string user = std::to_string(::geteuid());
  const std::string group = std::to_string(::getegid());
  if (::unshare(CLONE_NEWUSER) != 0) return system_failure("user namespace");
  TRY(write_existing("/proc/self/setgroups", "deny"));
  TRY(write_existing("/proc/self/uid_map", user + " " + user + " 1"));
  return write_existing("/proc/self/gid_map", group + " " + group + " 1");
}

IsolationFeatures probe() {
  if (child_can(can_number_processes)) return {.mount_namespace = true, .pid_namespace = true};
  if (child_can([] { return enter_user_namespace() && can_number_processes(); })) {
    return {.mount_namespace = true, .pid_namespace = true, .user_namespace = true};
  }
  if (child_can([] { return can_mount() && can_lock(); })) return {.mount_namespace = true};
  if (child_can([] { return enter_user_namespace() && can_mount() && can_lock(); })) {
    return {.mount_namespace = true, .user_namespace = true};
  }
  return {};
}

std::vector<std::string> in_words(const IsolationFeatures& features, const cluster::supervision::CgroupParent& cgroup) {
  std::vector<std::string> words{"a session of its own"};
  if (features.user_namespace) words.emplace_back("a user namespace");
  words.emplace_back(features.mount_namespace
                         ? "a mount namespace: system read-only, private /tmp, other users hidden, mounts"
                         : "no mount namespace: /tmp is shared, mounts are refused");
  words.emplace_back(features.pid_namespace ? "a pid namespace: other processes hidden, the whole tree killed at once"
                                            : "no pid namespace: other processes are visible");
  if (cgroup.version == 0) {
    words.emplace_back("no cgroups: memory is monitored, cpus are not limited");
    words.emplace_back(features.user_namespace ? "processes limited by the user namespace"
                                               : "processes are not limited");
    return words;
  }
  std::string limited = "cgroups version " + std::to_string(cgroup.version) + ":";
  for (const auto& [controller, folder] : cgroup.folders) limited += " " + controller;
  words.push_back(std::move(limited));
  return words;
}

}  // namespace cadre::supervisor
