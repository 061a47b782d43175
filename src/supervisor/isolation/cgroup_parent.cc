#include "supervisor/isolation/cgroup_parent.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <thread>
#include <vector>

#include "supervisor/descriptor.h"
#include "supervisor/isolation/cgroup.h"
#include "supervisor/processes.h"

namespace cadre::supervisor {

using cluster::supervision::CgroupParent;

namespace {

const std::vector<std::string> controllers{"memory", "cpu", "pids"};

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, separator);) parts.push_back(std::move(part));
  return parts;
}

bool contains(const std::vector<std::string>& list, const std::string& word) {
  return std::ranges::find(list, word) != list.end();
}

/// The folder of our own group in one hierarchy: version 2 for the controller "", else the one of version 1.
std::optional<std::string> own_folder(const std::string& controller, const std::string& own,
                                      const std::string& mounts) {
  std::optional<std::string> path;
  for (const std::string& line : split(own, '\n')) {  // 4:memory:/user or 0::/user
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string names = line.substr(first + 1, second - first - 1);
    if (controller.empty() ? names.empty() : contains(split(names, ','), controller)) path = line.substr(second + 1);
  }
  if (!path) return std::nullopt;
  for (const std::string& line : split(mounts, '\n')) {
    // 35 31 0:32 /root /mount/point rw,relatime … - cgroup cgroup rw,memory
    const std::vector<std::string> words = split(line, ' ');
    const auto dash = std::ranges::find(words, "-");
    if (words.size() < 5 || words.end() - dash < 4) continue;
    const bool is_it =
        controller.empty() ? dash[1] == "cgroup2" : dash[1] == "cgroup" && contains(split(dash[3], ','), controller);
    if (!is_it) continue;
    const std::string& root = words[3];
    const std::string& point = words[4];
    if (root == "/") return *path == "/" ? point : point + *path;
    if (*path == root || path->starts_with(root + "/")) return point + path->substr(root.size());
    return point;  // we see only a part of the hierarchy, and that part is ours
  }
  return std::nullopt;
}

bool make_group(const std::string& folder) { return ::mkdir(folder.c_str(), 0755) == 0 || errno == EEXIST; }

/// Moves ourselves and those we have started one group down; says no when others stand there too.
bool step_down(const std::string& own, const std::string& below) {
  const auto list = read_file(own + "/cgroup.procs");
  if (!list || !make_group(below)) return false;
  const std::vector<std::string> pids = split(*list, '\n');
  const auto is_ours = [](const std::string& pid) { return descends_from(std::atoi(pid.c_str()), ::getpid()); };
  if (!std::ranges::all_of(pids, is_ours)) return false;
  return std::ranges::all_of(
      pids, [&](const std::string& pid) { return write_existing(below + "/cgroup.procs", pid).has_value(); });
}

std::optional<CgroupParent> prepare_version_2(const std::string& own, const std::string& name) {
  const auto offered = read_file(own + "/cgroup.controllers");
  if (!offered) return std::nullopt;
  CgroupParent parent{2, {}};
  const std::string folder = own + "/" + name;
  std::string wanted;
  for (const std::string& controller : controllers) {
    if (!contains(split(offered->substr(0, offered->find('\n')), ' '), controller)) continue;
    wanted += (wanted.empty() ? "+" : " +") + controller;
    parent.folders[controller] = folder;
  }
  if (wanted.empty() || !make_group(folder)) return std::nullopt;
  if (!write_existing(own + "/cgroup.subtree_control", wanted) &&
      (!step_down(own, own + "/" + name + ".agent") || !write_existing(own + "/cgroup.subtree_control", wanted))) {
    return std::nullopt;
  }
  if (!write_existing(folder + "/cgroup.subtree_control", wanted)) return std::nullopt;
  return parent;
}

}  // namespace

CgroupParent prepare_cgroups(const std::string& name, const CgroupSources& sources) {
  const auto own = read_file(sources.own);
  const auto mounts = read_file(sources.mounts);
  if (!own || !mounts) return {};
  if (const auto folder = own_folder("", *own, *mounts)) {
    if (auto parent = prepare_version_2(*folder, name)) return *std::move(parent);
  }
  CgroupParent parent{1, {}};
  for (const std::string& controller : controllers) {
    const auto folder = own_folder(controller, *own, *mounts);
    if (folder && make_group(*folder + "/" + name)) parent.folders[controller] = *folder + "/" + name;
  }
  if (parent.folders.contains("cpu")) {
    // Else all tasks together would weigh as much as one single process beside the group.
    const unsigned shares = std::min(1024 * std::max(std::thread::hardware_concurrency(), 1U), 262'144U);
    (void)write_existing(parent.folders.at("cpu") + "/cpu.shares", std::to_string(shares));
  }
  return parent.folders.empty() ? CgroupParent{} : parent;
}

std::string cgroup_name(cluster::LeaseId lease) {
  std::string name = to_string(lease);
  std::ranges::replace(name, '/', '-');
  return name;
}

void sweep_cgroups(const CgroupParent& parent, const std::set<cluster::LeaseId>& alive) {
  std::set<std::string> kept;
  for (const cluster::LeaseId lease : alive) kept.insert(cgroup_name(lease));
  std::set<std::string> stale;
  for (const auto& [controller, path] : parent.folders) {
    const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(path.c_str()), ::closedir);
    while (const dirent* entry = folder ? ::readdir(folder.get()) : nullptr) {
      const std::string name = entry->d_name;
      if (entry->d_type == DT_DIR && !name.starts_with('.') && !kept.contains(name)) stale.insert(name);
    }
  }
  for (const std::string& name : stale) Cgroup::existing(parent, name).destroy();
}

namespace {

std::vector<std::string> groups_in(const std::string& folder) {
  std::vector<std::string> groups;
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::opendir(folder.c_str()), ::closedir);
  while (const dirent* entry = entries ? ::readdir(entries.get()) : nullptr) {
    const std::string name = entry->d_name;
    if (entry->d_type == DT_DIR && !name.starts_with('.')) groups.push_back(folder + "/" + name);
  }
  return groups;
}

bool is_empty(const std::string& group) {
  const auto processes = read_file(group + "/cgroup.procs");
  if (!processes || !processes->empty()) return false;
  return std::ranges::all_of(groups_in(group), is_empty);
}

void remove_if_empty(const std::string& group) {
  if (!is_empty(group)) return;
  for (const std::string& below : groups_in(group)) remove_if_empty(below);
  ::rmdir(group.c_str());
}

Descriptor open_group(const std::string& group) {
  return Descriptor(::open(group.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

}  // namespace

void remove_cgroups(const CgroupParent& parent) {
  for (const auto& [controller, folder] : parent.folders) remove_if_empty(folder);
}

CgroupHold::CgroupHold(const CgroupParent& parent) {
  for (const auto& [controller, folder] : parent.folders) {
    for (const std::string& group : {folder, folder + ".agent"}) {
      Descriptor opened = open_group(group);
      if (opened && ::flock(opened.get(), LOCK_SH | LOCK_NB) == 0) held_.push_back(std::move(opened));
    }
  }
}

void remove_abandoned_cgroups(const CgroupParent& parent, const std::string& prefix) {
  std::set<std::string> beside;  // of version 2 the controllers share their groups
  for (const auto& [controller, folder] : parent.folders) {
    const std::string above = folder.substr(0, folder.rfind('/'));
    for (const std::string& group : groups_in(above)) {
      const bool is_ours = group == folder || group == folder + ".agent";
      if (!is_ours && group.substr(above.size() + 1).starts_with(prefix)) beside.insert(group);
    }
  }
  for (const std::string& group : beside) {
    const Descriptor opened = open_group(group);
    if (opened && ::flock(opened.get(), LOCK_EX | LOCK_NB) == 0) remove_if_empty(group);
  }
}

}  // namespace cadre::supervisor
