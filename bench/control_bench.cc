#include <sys/stat.h>

#include <chrono>
#include <thread>

#include "bench/bench.h"
#include "bench/cluster_for_bench.h"
#include "bench/light_agents.h"
#include "cluster/data_folder.h"

namespace cadre::bench {
namespace {

using namespace std::chrono_literals;
namespace requests = cluster::requests;

constexpr int agents = 1'000;
constexpr int tasks_a_second = 100;
constexpr auto load_time = 10s;

}  // namespace

Result<Figures> bench_control() {
  const Scratch scratch;
  StderrLog log(Level::error);
  const cluster::DataFolder data{scratch.path() + "/master"};
  if (::mkdir(data.path.c_str(), 0700) != 0) return fail(Errc::unavailable, "no folder");
  TRY_ASSIGN(others, LightAgents::enrol(data, agents, log));
  const std::string master_log = scratch.path() + "/master.log";
  const Process master({"master", "--data", data.path, "--listen", "127.0.0.1:0", "--port", "0"}, master_log);
  TRY(others.start(master_log, {}));
  TRY_ASSIGN(client, Client::connect(data.path));
  TRY(client->until([](const requests::Status& status) { return status.agents_up == agents; }));

  const Duration cpu_before = master.cpu_time();
  const auto begin = std::chrono::steady_clock::now();
  int submitted = 0;
  while (std::chrono::steady_clock::now() - begin < load_time) {
    const auto due = static_cast<int>(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() *
                                      tasks_a_second);
    if (submitted < due) {
      TRY(client->ask(std::vector<requests::Submit>(static_cast<std::size_t>(due - submitted), job_of({"true"}))));
      submitted = due;
    }
    std::this_thread::sleep_for(5ms);
  }
  TRY(client->until([&](const requests::Status& status) { return status.ended >= submitted; }));
  const double passed = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const double cpu = std::chrono::duration<double>(master.cpu_time() - cpu_before).count();
  const std::vector<double> ends = others.end();

  Figures figures{"control", {}};
  figures.rows.push_back({"cpu share of the master, 1,000 agents, 100 tasks/s", 100 * cpu / passed, "%", {}, {}});
  figures.rows.push_back({"tasks started and ended", submitted / passed, "1/s", {}, {}});
  TRY_ASSIGN(commits, row_beside_raw("", 1, "1/s", "sqlite_commit 1 " + scratch.path() + "/plain.db"));
  const double commit_ms = 1000 / *commits.limit;
  for (const auto& [name, share] : {std::pair{"event to commit, p50", 0.5}, std::pair{"event to commit, p99", 0.99}}) {
    const double ms = quantile(ends, share);
    figures.rows.push_back({name, ms, "ms", commit_ms, commit_ms / ms});
  }
  return figures;
}

}  // namespace cadre::bench
