#include "tests/servers/small_disk.h"

#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <utility>

#include "tests/servers/process.h"

namespace cadre::servers {
namespace {

constexpr const char* mounts_marker = "CADRE_TEST_OWN_MOUNTS";

void mount_tmpfs(const std::string& folder, std::int64_t size_bytes, unsigned long flags) {
  const std::string options = "size=" + std::to_string(size_bytes) + ",mode=0755";
  if (mount("cadre-test", folder.c_str(), "tmpfs", flags, options.c_str()) == 0) return;
  throw std::runtime_error("cannot mount a small file system on " + folder + ": " + std::strerror(errno));
}

}  // namespace

bool has_own_mounts() { return std::getenv(mounts_marker) != nullptr; }

int rerun_with_own_mounts(const std::string& test) {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  Command command{{"/usr/bin/unshare", "--mount"}, "", ""};
  if (geteuid() != 0) {
    command.arguments.insert(command.arguments.end(), {"--user", "--map-current-user", "--keep-caps"});
  }
  command.arguments.insert(command.arguments.end(),
                           {"/usr/bin/env", "-u", "GTEST_OUTPUT", "-u", "GTEST_TOTAL_SHARDS",
                            std::string(mounts_marker) + "=1", self, "--gtest_filter=" + test});
  return run(command);
}

SmallDisk::SmallDisk(std::string folder, std::int64_t size_bytes) : folder_(std::move(folder)) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // lost on the way through unshare
  mount_tmpfs(folder_, size_bytes, 0);
}

SmallDisk::~SmallDisk() { umount2(folder_.c_str(), MNT_DETACH); }

void SmallDisk::resize(std::int64_t size_bytes) { mount_tmpfs(folder_, size_bytes, MS_REMOUNT); }

}  // namespace cadre::servers
