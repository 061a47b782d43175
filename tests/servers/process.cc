#include "tests/servers/process.h"

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace cadre::servers {
namespace {

/// Before the death signal is set: the kernel forgets it when the user changes.
bool become(uid_t user, gid_t group) {
  return setgroups(1, &group) == 0 && setresgid(group, group, group) == 0 && setresuid(user, user, user) == 0;
}

void die_with_parent(int signal, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, signal);
  const pid_t now = getppid();
  if (now != parent && now != 0)
    _exit(127);  // it died before we asked; 0: it cannot be seen from a host, which ends with it
}

pid_t make_child(const Fork& fork) {
  const pid_t pid = fork ? fork() : ::fork();
  if (pid < 0) throw std::runtime_error("cannot fork");
  return pid;
}

std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> children;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::ifstream file(entry.path() / "stat");
    std::string stat;
    std::getline(file, stat);
    const std::size_t after_name = stat.rfind(") ");
    if (after_name == std::string::npos || stat.size() < after_name + 5) continue;
    if (std::stol(stat.substr(after_name + 4)) == parent) children.push_back(static_cast<pid_t>(std::stol(name)));
  }
  return children;
}

}  // namespace

pid_t start(const Command& command) {
  if (access(command.arguments.at(0).c_str(), X_OK) != 0) {
    throw std::runtime_error(command.arguments[0] + " is not there; see packages/ for what the tests need");
  }
  std::vector<char*> arguments;
  for (const std::string& argument : command.arguments) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  const bool switches = !command.user.empty() && geteuid() == 0;
  const passwd* user = switches ? getpwnam(command.user.c_str()) : nullptr;
  if (switches && user == nullptr) throw std::runtime_error("there is no user " + command.user);
  const uid_t uid = switches ? user->pw_uid : 0;
  const gid_t gid = switches ? user->pw_gid : 0;
  const pid_t parent = getpid();
  const pid_t pid = make_child(command.fork);
  if (pid > 0) return pid;
  for (const std::string& variable : command.environment) putenv(const_cast<char*>(variable.c_str()));
  if (!command.output.empty()) {
    const int file = open(command.output.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
    dup2(file, 1);
    dup2(file, 2);
  }
  if (switches && !become(uid, gid)) _exit(126);
  die_with_parent(command.death_signal, parent);
  execv(arguments[0], arguments.data());
  _exit(127);
}

int run(const Command& command) { return wait_for(start(command)); }

pid_t fork_child(const std::function<int()>& body, const Fork& fork) {
  const pid_t parent = getpid();
  const pid_t pid = make_child(fork);
  if (pid > 0) return pid;
  die_with_parent(SIGKILL, parent);
  _exit(body());
}

int wait_for(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return -1;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void kill_tree(pid_t child) {
  kill(child, SIGSTOP);  // so that it starts no more
  for (const pid_t grandchild : children_of(child)) kill(grandchild, SIGKILL);
  kill(child, SIGKILL);
  wait_for(child);
}

}  // namespace cadre::servers
