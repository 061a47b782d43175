#include "tests/servers/scratch.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <stdexcept>
#include <system_error>

namespace cadre::servers {
namespace {

constexpr const char* sweep =
    "cat >/dev/null; umount -l \"$1\"/*; n=0;"
    "while [ -e \"$1\" ] && [ $n -lt 100 ]; do rm -rf \"$1\"; n=$((n+1)); sleep 0.05; done";

/// Starts a shell that waits for the end of this process, then removes `folder`.
void sweep_after_death(const char* folder) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe for the sweeper");
  const pid_t pid = fork();
  if (pid < 0) throw std::runtime_error("no process for the sweeper");
  if (pid == 0) {
    setsid();  // not to die with the group of the tests
    dup2(ends[0], 0);
    const int nowhere = open("/dev/null", O_RDWR);
    dup2(nowhere, 1);
    dup2(nowhere, 2);
    execl("/bin/sh", "sh", "-c", sweep, "sweep", folder, nullptr);
    _exit(127);
  }
  close(ends[0]);  // the other end stays open as long as this process lives
}

/// The folder of this program, below which all others are.
struct Root {
  std::string path;

  Root() {
    std::string pattern = std::filesystem::temp_directory_path() / "cadre-test-XXXXXX";
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("cannot make " + pattern);
    path = pattern;
    chmod(path.c_str(), 0755);  // a server may run as another user
    sweep_after_death(path.c_str());
  }
};

}  // namespace

TempDir::TempDir() {
  static const Root root;
  static int made = 0;
  path_ = root.path + "/" + std::to_string(++made);
  if (mkdir(path_.c_str(), 0755) != 0) throw std::runtime_error("cannot make " + path_);
}

TempDir::~TempDir() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace cadre::servers
