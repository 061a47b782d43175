#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "bench/bench.h"
#include "bench/cluster_for_bench.h"
#include "supervisor/descriptor.h"
#include "supervisor/forking/nursery.h"
#include "supervisor/isolation/cgroup_parent.h"

namespace cadre::bench {
namespace {

using cluster::supervision::Launch;
using supervisor::Descriptor;

constexpr std::size_t at_once = 8;
constexpr int launches = 1000;

/// Folders for tasks that do nothing, each with its launch: writing those is the agent's work and is not measured.
Result<std::vector<std::string>> make_folders(const std::string& root, Launch launch) {
  std::vector<std::string> folders;
  for (int i = 0; i < launches; ++i) {
    launch.lease.task.job.value = static_cast<std::uint64_t>(i) + 1;
    folders.push_back(root + "/" + std::to_string(i));
    std::filesystem::create_directories(folders.back() + "/work");
    TRY(supervisor::write_whole(folders.back() + "/launch", describe::write_msgpack(launch)));
  }
  return folders;
}

/// Starts all of them, some at a time, and waits for the end of the last; tasks a second.
Result<double> run_all(supervisor::Nursery& nursery, const std::vector<std::string>& folders) {
  const auto begin = std::chrono::steady_clock::now();
  std::vector<Descriptor> running;
  for (std::size_t next = 0; next < folders.size() || !running.empty();) {
    while (next < folders.size() && running.size() < at_once) {
      TRY_ASSIGN(born, nursery.start(folders[next++]));
      running.push_back(std::move(born.socket));
    }
    std::vector<pollfd> waits;
    for (const Descriptor& socket : running) waits.push_back({socket.get(), POLLHUP, 0});
    if (::poll(waits.data(), waits.size(), -1) < 0) return fail(Errc::unavailable, "poll");
    for (std::size_t i = waits.size(); i-- > 0;) {
      if ((waits[i].revents & POLLHUP) != 0) running.erase(running.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
  for (const std::string& folder : folders) {
    if (!std::filesystem::exists(folder + "/ending")) return fail(Errc::unavailable, "no ending in " + folder);
  }
  return static_cast<double>(folders.size()) / passed.count();
}

}  // namespace

Result<Figures> bench_supervisor() {
  TRY_ASSIGN(nursery, supervisor::Nursery::open(supervisor::program_beside_us()));
  const auto groups = supervisor::prepare_cgroups("cadre-bench-" + std::to_string(::getpid()));
  const Scratch scratch;
  Figures figures{"supervisor", {}};
  const auto measure = [&](const std::string& name, const Launch& launch) -> Result<void> {
    TRY_ASSIGN(folders, make_folders(scratch.path() + "/" + std::to_string(figures.rows.size()), launch));
    TRY_ASSIGN(value, run_all(*nursery, folders));
    TRY_ASSIGN(row, row_beside_raw(name, value, "1/s", "spawn"));
    figures.rows.push_back(std::move(row));
    return {};
  };
  Launch launch;
  launch.command.argv = {"true"};
  launch.policy.isolation = cluster::Isolation::off;
  auto done = measure("tasks that do nothing, isolation off", launch);
  launch.policy.isolation = cluster::Isolation::on;
  if (done) done = measure("isolation on, no limits", launch);
  launch.limits.memory = ByteSize{std::int64_t{256} << 20};
  launch.limits.cpus.milli = 1000;
  launch.limits.processes = 1000;
  launch.cgroup = groups;
  if (done) done = measure("isolation on, memory, cpus and processes limited", launch);
  supervisor::remove_cgroups(groups);
  TRY(done);
  return figures;
}

}  // namespace cadre::bench
