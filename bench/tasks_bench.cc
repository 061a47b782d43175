#include <algorithm>
#include <chrono>

#include "bench/bench.h"
#include "bench/cluster_for_bench.h"

namespace cadre::bench {
namespace {

namespace requests = cluster::requests;
using Clock = std::chrono::steady_clock;

constexpr std::size_t jobs = 2'000;
constexpr std::size_t queued = 10'000;
constexpr int singles = 21;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

/// From submission to the first output of a task that waits for nobody; the median, in milliseconds.
Result<double> first_output(Client& client) {
  std::vector<double> times;
  for (int i = 0; i < singles; ++i) {
    const auto begin = Clock::now();
    TRY_ASSIGN(job, client.ask(job_of({"echo", "here"})));
    TRY(client.await_output({job.id, 0}));
    times.push_back(seconds_since(begin) * 1000);
  }
  std::nth_element(times.begin(), times.begin() + singles / 2, times.end());
  return times[singles / 2];
}

/// Fills the queue with jobs that wait for the only slot, which is taken.
Result<void> fill_queue(Client& client) {
  requests::Submit job = job_of({"sleep", "3600"});
  job.job.members[0].slots = 1;
  TRY(client.ask(std::vector<requests::Submit>(queued + 1, job)));
  return client.until(
      [](const requests::Status& status) { return status.queued == static_cast<std::int64_t>(queued); });
}

}  // namespace

Result<Figures> bench_tasks() {
  const Scratch scratch;
  StderrLog log(Level::error);
  const std::string data = scratch.path() + "/master";
  const Process master({"master", "--data", data, "--port", "0"}, scratch.path() + "/master.log");
  TRY_ASSIGN(client, Client::connect(data));
  const Process agent({"agent", "--master", data, "--data", scratch.path() + "/agent", "--allow-isolation-off",
                       "--artificial-slots", "1"},
                      scratch.path() + "/agent.log");
  TRY(client->until([](const requests::Status& status) { return status.agents_up == 1; }));

  Figures figures{"tasks", {}};
  const auto add = [&](const std::string& name, double value) -> Result<void> {
    TRY_ASSIGN(row, row_beside_raw(name, value, "1/s", "spawn"));
    figures.rows.push_back(std::move(row));
    return {};
  };
  TRY_ASSIGN(with, tasks_per_second(*client, jobs, cluster::Isolation::on));
  TRY(add("tasks of `true`, isolation on", with));
  TRY_ASSIGN(without, tasks_per_second(*client, jobs, cluster::Isolation::off));
  TRY(add("tasks of `true`, isolation off", without));
  TRY_ASSIGN(single, first_output(*client));
  figures.rows.push_back({"submission to first output", single, "ms", {}, {}});
  TRY(fill_queue(*client));
  TRY_ASSIGN(behind, tasks_per_second(*client, jobs, cluster::Isolation::on));
  TRY(add("the same with 10,000 in the queue, isolation on", behind));
  return figures;
}

}  // namespace cadre::bench
