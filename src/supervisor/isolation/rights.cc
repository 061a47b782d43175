#include "supervisor/isolation/rights.h"

#include <grp.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "supervisor/descriptor.h"
#include "supervisor/isolation/system_calls.h"

namespace cadre::supervisor {

namespace {

constexpr rlim_t descriptors_least = 1024;
constexpr int task_oom_score = 500;  // of -1000 to 1000; agents and masters have 0

constexpr std::uint64_t bit(int capability) { return std::uint64_t{1} << capability; }

/// What is left to a task that runs as root: nothing that reaches beyond what it sees.
constexpr std::uint64_t of_root = bit(CAP_CHOWN) | bit(CAP_DAC_OVERRIDE) | bit(CAP_FOWNER) | bit(CAP_FSETID) |
                                  bit(CAP_KILL) | bit(CAP_SETUID) | bit(CAP_SETGID) | bit(CAP_NET_BIND_SERVICE);

Result<void> bound_capabilities(std::uint64_t kept) {
  for (int capability = 0; capability < 64; ++capability) {
    if ((kept & bit(capability)) != 0 || ::prctl(PR_CAPBSET_DROP, capability) == 0) continue;
    if (errno == EINVAL) break;  // the kernel knows no more
    return system_failure("giving up capabilities");
  }
  return {};
}

Result<void> set_capabilities(std::uint64_t kept) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, 2> data{};
  for (std::size_t half = 0; half < 2; ++half) {
    data[half].permitted = data[half].effective = static_cast<std::uint32_t>(kept >> (32 * half));
  }
  if (::syscall(SYS_capset, &header, data.data()) != 0) return system_failure("giving up capabilities");
  return {};
}

Result<void> become(const cluster::supervision::UnixUser& user) {
  std::vector<gid_t> groups;
  for (const std::int64_t group : user.groups) groups.push_back(static_cast<gid_t>(group));
  const auto uid = static_cast<uid_t>(user.uid);
  const auto gid = static_cast<gid_t>(user.gid);
  if (::setgroups(groups.size(), groups.data()) != 0 || ::setresgid(gid, gid, gid) != 0 ||
      ::setresuid(uid, uid, uid) != 0) {
    return Failure(system_error("cannot run as user " + std::to_string(user.uid), errno));
  }
  return {};
}

}  // namespace

Result<void> take_rights(const Rights& rights) {
  const bool stays_root = !rights.user && ::geteuid() == 0;
  const std::uint64_t kept = stays_root ? of_root : 0;
  if (rights.walled) TRY(bound_capabilities(kept));
  if (rights.user) TRY(become(*rights.user));
  if (!rights.walled) return {};
  TRY(set_capabilities(kept));
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return system_failure("no new privileges");
  return deny_system_calls(rights.nests ? Nesting::allowed : Nesting::denied);
}

Result<void> limit_processes(int most) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NPROC, &limit) != 0) return system_failure("limit of processes");
  limit.rlim_max = std::min(limit.rlim_max, static_cast<rlim_t>(most));
  limit.rlim_cur = limit.rlim_max;
  if (::setrlimit(RLIMIT_NPROC, &limit) != 0) return system_failure("limit of processes");
  return {};
}

Result<void> limit_descriptors() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return system_failure("limit of open files");
  limit.rlim_max = std::min(limit.rlim_max, std::max(limit.rlim_max / 2, descriptors_least));
  limit.rlim_cur = std::min(limit.rlim_cur, limit.rlim_max);
  if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) return system_failure("limit of open files");
  return {};
}

void be_killed_first() {
  const std::string path = "/proc/self/oom_score_adj";
  if (std::atoi(read_file(path).value_or("").c_str()) >= task_oom_score) return;
  static_cast<void>(write_existing(path, std::to_string(task_oom_score)));  // where we may not, tasks run all the same
}

}  // namespace cadre::supervisor
