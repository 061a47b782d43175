#include "supervisor/processes.h"

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <set>
#include <sstream>

#include "supervisor/descriptor.h"

namespace cadre::supervisor {

namespace {

Duration ticks(std::int64_t count) {
  static const std::int64_t a_second = ::sysconf(_SC_CLK_TCK);
  return std::chrono::nanoseconds(count * (1'000'000'000 / a_second));
}

}  // namespace

Duration to_duration(const timeval& time) {
  return std::chrono::seconds(time.tv_sec) + std::chrono::microseconds(time.tv_usec);
}

Process parse_process(const std::string& stat_line) {
  static const std::int64_t page = ::sysconf(_SC_PAGESIZE);
  const std::size_t name_end = stat_line.rfind(')');  // a program may call itself anything, brackets too
  if (name_end == std::string::npos) return {};
  std::istringstream fields(stat_line.substr(name_end + 1));
  Process process;
  std::int64_t skipped = 0;
  std::int64_t user = 0;
  std::int64_t system = 0;
  std::int64_t children_user = 0;
  std::int64_t children_system = 0;
  std::int64_t pages = 0;
  fields >> process.state >> process.parent;
  for (int i = 0; i < 9; ++i) fields >> skipped;
  fields >> user >> system >> children_user >> children_system;
  for (int i = 0; i < 4; ++i) fields >> skipped;
  std::uint64_t address_space = 0;
  fields >> process.started >> address_space >> pages;
  if (!fields) return {};
  process.pid = std::atoi(stat_line.c_str());
  process.memory = ByteSize{pages * page};
  process.cpu_time = ticks(user + system);
  process.cpu_time_reaped = ticks(children_user + children_system);
  return process;
}

std::vector<Process> all_processes(const std::string& proc) {
  std::vector<Process> found;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(proc.c_str()), ::closedir);
  if (!folder) return found;
  while (const dirent* entry = ::readdir(folder.get())) {
    if (std::isdigit(static_cast<unsigned char>(entry->d_name[0])) == 0) continue;
    const auto line = read_file(proc + "/" + entry->d_name + "/stat");
    if (!line) continue;
    if (const Process process = parse_process(*line); process.pid != 0) found.push_back(process);
  }
  return found;
}

Process process_of(pid_t pid) {
  const auto line = read_file("/proc/" + std::to_string(pid) + "/stat");
  return line ? parse_process(*line) : Process{};
}

bool expects_signal(pid_t pid, int signal) {
  const auto text = read_file("/proc/" + std::to_string(pid) + "/status");
  if (!text) return false;
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("SigCgt:") && !line.starts_with("SigBlk:")) continue;
    const std::uint64_t signals = std::strtoull(line.c_str() + line.find(':') + 1, nullptr, 16);
    if ((signals >> (signal - 1) & 1) != 0) return true;
  }
  return false;
}

std::optional<MemoryShare> memory_share(const std::string& proc, pid_t pid) {
  const auto text = read_file(proc + "/" + std::to_string(pid) + "/smaps_rollup");
  if (!text) return std::nullopt;
  std::optional<MemoryShare> share;
  std::istringstream lines(*text);
  std::string name;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::int64_t kilobytes = 0;
    if (!(words >> name >> kilobytes)) continue;
    if (name == "Pss:") share = MemoryShare{ByteSize{kilobytes * 1024}, ByteSize{0}};
    if (name == "Pss_Shmem:" && share) share->shared = ByteSize{kilobytes * 1024};
  }
  return share;
}

std::vector<Process> descendants(pid_t root) {
  std::vector<Process> all = all_processes();
  std::ranges::sort(all, {}, &Process::parent);
  std::vector<Process> tree;
  const auto add_children = [&](pid_t parent) {
    for (const Process& child : std::ranges::equal_range(all, parent, {}, &Process::parent)) tree.push_back(child);
  };
  add_children(root);
  for (std::size_t i = 0; i < tree.size(); ++i) add_children(tree[i].pid);
  return tree;
}

bool descends_from(pid_t pid, pid_t root) {
  for (int steps = 0; pid > 1 && steps < 1000; ++steps) {
    if (pid == root) return true;
    pid = process_of(pid).parent;
  }
  return false;
}

Left kill_descendants() {
  std::set<pid_t> stopped;
  std::vector<Process> tree;
  for (bool grown = true; grown;) {
    grown = false;
    tree = descendants(::getpid());
    for (const Process& process : tree) {
      if (process.state == 'Z' || !stopped.insert(process.pid).second) continue;
      grown = ::kill(process.pid, SIGSTOP) == 0 || grown;
    }
  }
  Left left = Left::none;
  for (const Process& process : tree) {
    if (::kill(process.pid, SIGKILL) == 0) {
      left = Left::some;
    } else if (errno == EPERM && left == Left::none) {
      left = Left::untouchable;
    }
  }
  return left;
}

}  // namespace cadre::supervisor
