#include "tests/servers/rights.h"

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/servers/process.h"

namespace cadre::servers {
namespace {

constexpr const char* rights_marker = "CADRE_TEST_OWN_USERS";

bool has_rights() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2]{};
  if (syscall(SYS_capget, &header, data) != 0) return false;
  constexpr std::uint32_t wanted = 1U << CAP_SYS_ADMIN | 1U << CAP_NET_ADMIN | 1U << CAP_NET_RAW;
  return (data[0].effective & wanted) == wanted;
}

std::vector<std::string> own_arguments() {
  std::vector<std::string> arguments;
  std::ifstream file("/proc/self/cmdline");
  for (std::string argument; std::getline(file, argument, '\0');) arguments.push_back(argument);
  return arguments;
}

/// Threads cannot change their users, and a sanitizer may have started one: a program does it for us.
void start_anew_for_rights() {
  const std::vector<std::string> unshare{"/usr/bin/unshare", "--user", "--map-current-user", "--keep-caps"};
  Command trial{unshare, "", ""};
  trial.arguments.insert(trial.arguments.end(), {"--net", "/bin/true"});
  if (run(trial) != 0) return;  // the caller that needs the rights reports it
  std::vector<std::string> arguments = own_arguments();
  arguments.at(0) = std::filesystem::read_symlink("/proc/self/exe");
  arguments.insert(arguments.begin(), unshare.begin(), unshare.end());
  std::vector<char*> words;
  for (std::string& argument : arguments) words.push_back(argument.data());
  words.push_back(nullptr);
  setenv(rights_marker, "1", 1);
  execv(words[0], words.data());
}

}  // namespace

void get_network_rights() {
  if (!has_rights() && getenv(rights_marker) == nullptr) start_anew_for_rights();
  unsetenv(rights_marker);
  prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);  // not for children
}

void expect_network_rights() {
  if (has_rights()) return;
  throw std::runtime_error(
      "these tests make network namespaces, which is not allowed here. Run them as root, or allow user namespaces: "
      "sysctl user.max_user_namespaces=10000, where it is there kernel.unprivileged_userns_clone=1, and on Ubuntu "
      "kernel.apparmor_restrict_unprivileged_userns=0; a container must be a privileged one");
}

}  // namespace cadre::servers
