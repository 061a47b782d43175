#include <chrono>
#include <string>
#include <vector>

#include "bench/bench.h"
#include "bench/cluster_for_bench.h"
#include "loop/tasks.h"

namespace cadre::bench {
namespace {

using Clock = std::chrono::steady_clock;
namespace requests = cluster::requests;

constexpr int tasks = 4;
constexpr int lines_each = 150'000;
constexpr int line_bytes = 100;
constexpr int followers = 4;

/// Reads all that one task writes, as it comes.
loop::Task<void> follow(rest::Client& connection, cluster::TaskId task, std::int64_t& lines) {
  requests::ReadLogs request;
  request.task = task;
  request.wait = true;
  for (std::int64_t count = 0; count < lines_each;) {
    const Result<requests::LogPage> page = co_await connection.ask(request, std::chrono::minutes(1));
    if (!page) {
      co_await loop::sleep(connection.loop(), std::chrono::milliseconds(20));  // it is not placed yet
      continue;
    }
    count += static_cast<std::int64_t>(page->lines.size());
    lines += static_cast<std::int64_t>(page->lines.size());
    request.epoch = page->epoch;
    request.offset = page->next;
  }
}

/// Lines a second, from the submission until all that follow have read all.
Result<double> write_and_follow(Client& client, int readers) {
  requests::Submit job =
      job_of({"sh", "-c", "yes " + std::string(line_bytes - 1, 'x') + " | head -n " + std::to_string(lines_each)});
  job.job.members[0].count = tasks;
  const auto begin = Clock::now();
  TRY_ASSIGN(view, client.ask(job));
  std::int64_t lines = 0;
  std::vector<loop::Task<void>> all;
  for (int i = 0; i < readers; ++i) {
    for (std::uint32_t task = 0; task < tasks; ++task) {
      all.push_back(follow(client.connection(), {view.id, task}, lines));
    }
  }
  client.run_all(std::move(all));
  if (lines != std::int64_t{readers} * tasks * lines_each) return fail(Errc::corrupt, "lines were lost or doubled");
  return tasks * lines_each / std::chrono::duration<double>(Clock::now() - begin).count();
}

}  // namespace

Result<Figures> bench_logs() {
  const Scratch scratch;
  const std::string data = scratch.path() + "/master";
  const Process master({"master", "--data", data, "--port", "0"}, scratch.path() + "/master.log");
  TRY_ASSIGN(client, Client::connect(data));
  const Process agent({"agent", "--master", data, "--data", scratch.path() + "/agent", "--allow-isolation-off",
                       "--artificial-slots", "1"},
                      scratch.path() + "/agent.log");
  TRY(client->until([](const requests::Status& status) { return status.agents_up == 1; }));
  Figures figures{"logs", {}};
  const std::string raw = "write_fsync " + std::to_string(line_bytes) + " 1048576 " + scratch.path() + "/raw";
  const auto measure = [&](const std::string& name, int readers) -> Result<void> {
    TRY_ASSIGN(rate, write_and_follow(*client, readers));
    TRY_ASSIGN(row, row_beside_raw(name, rate, "lines/s", raw));
    figures.rows.push_back(std::move(row));
    return {};
  };
  TRY(measure("4 tasks to the store and one reader, lines of 100 bytes", 1));
  TRY(measure("4 tasks to the store and " + std::to_string(followers) + " followers", followers));
  return figures;
}

}  // namespace cadre::bench
