#include "agent/host_facts.h"

#include <pwd.h>
#include <sched.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <map>
#include <sstream>

namespace cadre::agent {
namespace {

/// Bytes by name, as /proc/meminfo has them.
std::map<std::string, std::int64_t> memory_of_host() {
  std::map<std::string, std::int64_t> amounts;
  std::ifstream file("/proc/meminfo");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    std::int64_t kib = 0;
    if (words >> name >> kib) amounts[name] = kib * 1024;
  }
  return amounts;
}

std::int64_t cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return ::sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : ::sysconf(_SC_NPROCESSORS_ONLN);
}

}  // namespace

HostFacts facts_of_host() {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  return {name.data(), {cores() * 1000}, {memory_of_host()["MemTotal:"]}};
}

std::string boot_id() {
  std::string id;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), id);
  return id;
}

cluster::messages::Load load_of_host() {
  cluster::messages::Load load;
  std::ifstream("/proc/loadavg") >> load.average;
  auto memory = memory_of_host();
  load.memory_used = {memory["MemTotal:"] - memory["MemAvailable:"]};
  return load;
}

std::string home_of_account() {
  std::array<char, 16'384> buffer;
  passwd entry{};
  passwd* found = nullptr;
  const bool is_known =
      ::getpwuid_r(::geteuid(), &entry, buffer.data(), buffer.size(), &found) == 0 && found != nullptr;
  return is_known ? entry.pw_dir : "";
}

}  // namespace cadre::agent
