#include "supervisor/leftovers.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <csignal>
#include <set>
#include <sstream>
#include <string_view>
#include <thread>

#include "supervisor/clock.h"
#include "supervisor/descriptor.h"
#include "supervisor/isolation/cgroup.h"
#include "supervisor/isolation/cgroup_parent.h"
#include "supervisor/processes.h"

namespace cadre::supervisor {

namespace {

constexpr std::string_view socket_variable = "CADRE_SOCKET=";
constexpr Duration pause = std::chrono::milliseconds(2);

std::string target_of(const std::string& link) {
  std::array<char, PATH_MAX> text;
  const ssize_t size = ::readlink(link.c_str(), text.data(), text.size());
  return size > 0 ? std::string(text.data(), static_cast<std::size_t>(size)) : "";
}

/// What CADRE_SOCKET is in an environment, where each variable ends with a zero.
std::string_view socket_in(std::string_view environment) {
  while (!environment.empty()) {
    const std::string_view one = environment.substr(0, environment.find('\0'));
    if (one.starts_with(socket_variable)) return one.substr(socket_variable.size());
    environment.remove_prefix(std::min(one.size() + 1, environment.size()));
  }
  return {};
}

bool has_terminal(const std::string& about) {
  const auto line = read_file(about + "/stat");
  const std::size_t name_end = line ? line->rfind(')') : std::string::npos;
  if (name_end == std::string::npos) return true;
  std::istringstream fields(line->substr(name_end + 1));
  char state = 0;
  int parent = 0;
  int group = 0;
  int session = 0;
  int terminal = 0;
  fields >> state >> parent >> group >> session >> terminal;
  return !fields || terminal != 0;
}

class Tasks {
 public:
  explicit Tasks(const std::vector<std::string>& folders) {
    for (const std::string& folder : folders) {
      folders_.insert(folder);
      sockets_.insert(folder + "/task.sock");
    }
  }

  [[nodiscard]] bool own(pid_t pid) const {
    const std::string about = "/proc/" + std::to_string(pid);
    // Somebody who looks around there in a terminal is no leftover.
    if (is_inside(target_of(about + "/cwd")) && !has_terminal(about)) return true;
    const auto environment = read_file(about + "/environ");
    const std::string socket(environment ? socket_in(*environment) : "");
    // A path that is too long for a socket is a link to the real one.
    return !socket.empty() && (sockets_.contains(socket) || sockets_.contains(target_of(socket)));
  }

 private:
  /// Whether a path is a task's folder or in it.
  [[nodiscard]] bool is_inside(std::string path) const {
    if (path.ends_with(" (deleted)")) path.resize(path.size() - 10);
    for (std::size_t end = path.size(); end != std::string::npos && end > 0; end = path.rfind('/', end - 1)) {
      if (folders_.contains(path.substr(0, end))) return true;
    }
    return false;
  }

  std::set<std::string> folders_;
  std::set<std::string> sockets_;
};

/// Those that belong to the tasks, and what they have started or share a session with.
std::set<pid_t> find(const Tasks& tasks) {
  const std::vector<Process> all = all_processes();
  const pid_t own_session = ::getsid(0);
  std::set<pid_t> found;
  std::set<pid_t> sessions;
  const auto take = [&](const Process& process) {
    if (process.pid == ::getpid() || process.state == 'Z' || !found.insert(process.pid).second) return false;
    const pid_t session = ::getsid(process.pid);
    if (session > 1 && session != own_session) sessions.insert(session);
    return true;
  };
  for (const Process& process : all) {
    if (process.state != 'Z' && tasks.own(process.pid)) take(process);
  }
  for (bool grown = !found.empty(); grown;) {
    grown = false;
    for (const Process& process : all) {
      if (found.contains(process.pid)) continue;
      if (found.contains(process.parent) || sessions.contains(::getsid(process.pid))) grown |= take(process);
    }
  }
  return found;
}

}  // namespace

int end_leftovers(const std::vector<std::string>& folders, Duration patience) {
  if (folders.empty()) return 0;
  const Tasks tasks(folders);
  const TimePoint until = now() + patience;
  for (;;) {
    const std::set<pid_t> found = find(tasks);
    if (found.empty()) return 0;
    for (const pid_t pid : found) ::kill(pid, SIGSTOP);  // so that nothing is born meanwhile
    for (const pid_t pid : found) ::kill(pid, SIGKILL);
    if (now() >= until) return static_cast<int>(found.size());
    std::this_thread::sleep_for(pause);
  }
}

void end_group(const cluster::supervision::CgroupParent& parent, const cluster::LeaseId& home) {
  if (parent.version != 0) Cgroup::existing(parent, cgroup_name(home)).destroy();
}

}  // namespace cadre::supervisor
