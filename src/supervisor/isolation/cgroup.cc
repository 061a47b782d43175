#include "supervisor/isolation/cgroup.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <sstream>
#include <thread>

#include "supervisor/descriptor.h"
#include "supervisor/judge.h"

namespace cadre::supervisor {

using cluster::TaskLimits;
using cluster::supervision::CgroupParent;

namespace {

constexpr std::int64_t period_us = 100'000;
constexpr std::int64_t least_quota_us = 1000;  // the kernel takes no less

std::optional<std::int64_t> number_in(const std::string& path) {
  const auto text = read_file(path);
  std::int64_t number = 0;
  if (!text || std::from_chars(text->data(), text->data() + text->size(), number).ec != std::errc{}) return {};
  return number;
}

/// The number behind a word at the beginning of a line.
std::optional<std::int64_t> number_after(const std::string& path, const std::string& word) {
  const auto text = read_file(path);
  if (!text) return {};
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string first;
    std::int64_t number = 0;
    if (words >> first >> number && first == word) return number;
  }
  return {};
}

template <class T>
std::optional<T> as(std::optional<std::int64_t> number) {
  return number ? std::optional(T{*number}) : std::nullopt;
}

}  // namespace

Cgroup Cgroup::make(const CgroupParent& parent, const std::string& name, const TaskLimits& limits, Purpose purpose) {
  Cgroup group;
  group.version_ = parent.version;
  const bool for_killing = purpose != Purpose::limits;
  const bool to_come = purpose == Purpose::limits_to_come;
  const bool any = for_killing || limits.memory.value > 0 || limits.cpus.milli > 0 || limits.processes > 0;
  for (const auto& [controller, folder] : parent.folders) {
    const bool asked = to_come || (controller == "memory" && limits.memory.value > 0) ||
                       (controller == "cpu" && limits.cpus.milli > 0) ||
                       (controller == "pids" && (limits.processes > 0 || for_killing));
    if (parent.version == 2 ? any : asked) group.make_folder(controller, folder + "/" + name);
  }
  group.limit(limits);
  return group;
}

Cgroup Cgroup::existing(const CgroupParent& parent, const std::string& name) {
  Cgroup group;
  group.version_ = parent.version;
  for (const auto& [controller, folder] : parent.folders) {
    const std::string path = folder + "/" + name;
    if (::access(path.c_str(), F_OK) == 0) group.make_folder(controller, path);
  }
  return group;
}

bool Cgroup::make_folder(const std::string& controller, const std::string& folder) {
  if (::mkdir(folder.c_str(), 0755) != 0 && errno != EEXIST) return false;
  folders_[controller] = folder;
  if (std::ranges::find(distinct_, folder) == distinct_.end()) distinct_.push_back(folder);
  return true;
}

std::string Cgroup::file(const std::string& controller, const std::string& name) const {
  const auto found = folders_.find(controller);
  return found == folders_.end() ? "" : found->second + "/" + name;
}

void Cgroup::limit(const TaskLimits& limits) {
  if (limits.memory.value > 0 && limit_memory(limits.memory)) limits_["memory"] = rounded(limits.memory) + " of memory";
  if (limits.cpus.milli > 0 && limit_cpus(limits.cpus)) limits_["cpu"] = to_string(limits.cpus) + " cpus";
  const std::string processes = std::to_string(limits.processes);
  if (limits.processes > 0 && write_existing(file("pids", "pids.max"), processes)) {
    limits_["pids"] = processes + " processes";
  }
}

bool Cgroup::limit_memory(ByteSize memory) const {
  const std::string bytes = std::to_string(memory.value);
  if (version_ == 2) {
    (void)write_existing(file("memory", "memory.swap.max"), "0");
    (void)write_existing(file("memory", "memory.oom.group"), "1");
    return write_existing(file("memory", "memory.max"), bytes).has_value();
  }
  if (!write_existing(file("memory", "memory.limit_in_bytes"), bytes)) return false;
  (void)write_existing(file("memory", "memory.memsw.limit_in_bytes"), bytes);  // not there without swap accounting
  return true;
}

bool Cgroup::limit_cpus(plan::Cpus cpus) const {
  const std::string quota = std::to_string(std::max(cpus.milli * period_us / 1000, least_quota_us));
  const std::string period = std::to_string(period_us);
  if (version_ == 2) return write_existing(file("cpu", "cpu.max"), quota + " " + period).has_value();
  return write_existing(file("cpu", "cpu.cfs_period_us"), period) &&
         write_existing(file("cpu", "cpu.cfs_quota_us"), quota);
}

bool Cgroup::holds(const std::string& controller) const { return limits_.contains(controller); }

std::string Cgroup::in_words() const {
  if (folders_.empty()) return "";
  std::string words = "cgroup version " + std::to_string(version_) + ":";
  for (const auto& [controller, limit] : limits_) words += " at most " + limit + ",";
  if (limits_.empty()) return words + " no limits";
  words.pop_back();
  return words;
}

std::vector<std::string> Cgroup::lists() const {
  // In version 1 we move as a single thread, which we are: to move a process the kernel first waits until nobody on
  // the host is inside a fork or an exec, which takes many milliseconds under load, one move after the other.
  const char* const list = version_ == 1 ? "/tasks" : "/cgroup.procs";
  std::vector<std::string> paths;
  for (const std::string& folder : distinct_) paths.push_back(folder + list);
  return paths;
}

Result<void> Cgroup::enter() const {
  for (const std::string& list : lists()) TRY(write_existing(list, "0"));
  return {};
}

Result<std::vector<Descriptor>> Cgroup::open_lists() const {
  std::vector<Descriptor> all;
  for (const std::string& list : lists()) {
    all.emplace_back(::open(list.c_str(), O_WRONLY | O_CLOEXEC));
    if (!all.back()) return system_failure(list);
  }
  return all;
}

GroupUse Cgroup::use() const {
  GroupUse use;
  const bool second = version_ == 2;
  if (folders_.contains("memory")) {
    use.memory = as<ByteSize>(number_in(file("memory", second ? "memory.current" : "memory.usage_in_bytes")));
    use.memory_most = as<ByteSize>(number_in(file("memory", second ? "memory.peak" : "memory.max_usage_in_bytes")));
    // Old pages of files are there only because nobody has wanted the room yet.
    const auto old = number_after(file("memory", "memory.stat"), second ? "inactive_file" : "total_inactive_file");
    if (use.memory && old) use.memory = ByteSize{std::max<std::int64_t>(use.memory->value - *old, 0)};
  }
  if (folders_.contains("cpu")) {
    if (second) {
      use.cpu_time = as<std::chrono::microseconds>(number_after(file("cpu", "cpu.stat"), "usage_usec"));
    } else {  // only where the controllers cpu and cpuacct are mounted together
      use.cpu_time = as<Duration>(number_in(file("cpu", "cpuacct.usage")));
    }
  }
  if (folders_.contains("pids")) use.processes = number_in(file("pids", "pids.current"));
  return use;
}

std::int64_t Cgroup::oom_kills() const {
  if (!folders_.contains("memory")) return 0;
  const std::string path = file("memory", version_ == 2 ? "memory.events" : "memory.oom_control");
  return number_after(path, "oom_kill").value_or(0);
}

void Cgroup::kill() const {
  if (folders_.contains("pids")) (void)write_existing(file("pids", "pids.max"), "0");  // nothing is born any more
  for (const std::string& folder : distinct_) {
    if (version_ == 2 && write_existing(folder + "/cgroup.kill", "1")) continue;
    const auto inside = read_file(folder + "/cgroup.procs");
    if (!inside) continue;
    std::istringstream pids(*inside);
    for (pid_t pid = 0; pids >> pid;) {
      if (pid > 1 && pid != ::getpid()) ::kill(pid, SIGKILL);
    }
  }
}

bool Cgroup::remove() {
  std::erase_if(distinct_, [](const std::string& folder) { return ::rmdir(folder.c_str()) == 0 || errno == ENOENT; });
  if (distinct_.empty()) folders_.clear();
  return distinct_.empty();
}

void Cgroup::destroy() {
  for (int attempt = 0; attempt < 200 && !remove(); ++attempt) {
    kill();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

}  // namespace cadre::supervisor
