#include <sys/stat.h>

#include <chrono>
#include <string>

#include "app/parts.h"
#include "bench/bench.h"
#include "bench/cluster_for_bench.h"
#include "cluster/control/control.h"
#include "cluster/data_folder.h"
#include "records/records.h"

namespace cadre::bench {
namespace {

using namespace std::chrono_literals;
namespace control = cluster::control;
namespace requests = cluster::requests;
using Clock = std::chrono::steady_clock;

constexpr std::uint64_t ended_jobs = 1'000'000;
constexpr std::uint64_t queued_jobs = 100'000;
constexpr std::size_t sets = 1'000;
constexpr std::size_t in_flight_of_burst = 32;

double ms_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

control::JobRow job_row(std::uint64_t id, cluster::JobStage stage) {
  control::JobRow row;
  row.id = cluster::JobId{id};
  row.spec = job_of({"python3", "train.py", "--seed", std::to_string(id)}).job;
  row.spec.name = "training run " + std::to_string(id);
  row.spec.members.front().slots = 1;
  row.owner = "admin";
  row.position = static_cast<double>(id);
  row.stage = stage;
  row.submitted = row.queued = TimePoint(std::chrono::seconds(1'700'000'000 + id));
  if (stage != cluster::JobStage::ended) return row;
  row.started = row.queued + 1s;
  row.ended = row.queued + 60s;
  row.runs = 1;
  return row;
}

control::TaskRow task_row(const control::JobRow& job) {
  control::TaskRow row;
  row.id = {job.id, 0};
  row.run = 1;
  row.lease = {{1}, cluster::lease::Ended{}};
  row.agent = cluster::AgentId("agent-1");
  row.placed = row.started = job.started;
  row.ended = job.ended;
  return row;
}

/// What a master leaves that has run a million jobs and has a hundred thousand left to run.
Result<void> fill(const std::string& url, Log& log) {
  TRY_ASSIGN(records, records::Records::open(url, log, app::rows_of(app::parts_of({}))));
  TRY(records->begin_boot());
  constexpr std::uint64_t at_once = 10'000;
  for (std::uint64_t id = 1; id <= ended_jobs + queued_jobs;) {
    control::Writes writes;
    for (const std::uint64_t end = id + at_once; id < end; ++id) {
      const bool has_ended = id <= ended_jobs;
      writes.new_jobs.push_back(job_row(id, has_ended ? cluster::JobStage::ended : cluster::JobStage::queued));
      if (has_ended) writes.tasks.push_back(task_row(writes.new_jobs.back()));
    }
    TRY(records->commit(control::to_rows(std::move(writes))));
  }
  return {};
}

/// What clients of a master measure that set priorities, and one that requests the status meanwhile.
struct Sets {
  std::size_t next = 0;
  std::size_t clients = 0;
  std::size_t first_priority = 0;  ///< so that each priority is another one than before
  std::vector<double> set_ms = {};
  std::vector<double> status_ms = {};
  double seconds = 0;
};

loop::Task<void> request_status(Client& client, Sets& sets_of) {
  while (sets_of.clients > 0) {
    const auto begin = Clock::now();
    const auto status = co_await client.connection().ask(requests::GetStatus{}, 2min);
    if (status) sets_of.status_ms.push_back(ms_since(begin));
  }
}

loop::Task<void> set_priorities(Client& client, Sets& sets_of) {
  while (sets_of.next < sets) {
    const std::size_t i = sets_of.next++;
    requests::SetJob set;
    set.job = cluster::JobId{ended_jobs + 1 + i * (queued_jobs / sets)};
    set.priority = static_cast<std::int32_t>(1 + (sets_of.first_priority + i) % 99);
    const auto begin = Clock::now();
    const auto done = co_await client.connection().ask(set, 2min);
    if (done) sets_of.set_ms.push_back(ms_since(begin));
  }
  --sets_of.clients;
}

/// So many requests to set a priority are in flight at a time.
Result<Sets> set_with(Client& client, std::size_t in_flight) {
  Sets sets_of;
  sets_of.clients = sets_of.first_priority = in_flight;
  std::vector<loop::Task<void>> tasks;
  for (std::size_t i = 0; i < in_flight; ++i) tasks.push_back(set_priorities(client, sets_of));
  tasks.push_back(request_status(client, sets_of));
  const auto begin = Clock::now();
  client.run_all(std::move(tasks));
  sets_of.seconds = ms_since(begin) / 1'000;
  if (sets_of.set_ms.size() == sets && !sets_of.status_ms.empty()) return sets_of;
  return fail(Errc::unavailable, "the master did not answer");
}

Result<double> time_of(Client& client, const auto& request) {
  const auto begin = Clock::now();
  TRY(client.ask(request));
  return ms_since(begin);
}

}  // namespace

Result<Figures> bench_scale() {
  const Scratch scratch;
  StderrLog log(Level::error);
  const cluster::DataFolder data{scratch.path() + "/master"};
  if (::mkdir(data.path.c_str(), 0700) != 0) return fail(Errc::unavailable, "no folder");
  TRY(fill(data.database_url(), log));

  const auto begin = Clock::now();
  const Process master({"master", "--data", data.path, "--port", "0"}, scratch.path() + "/master.log");
  TRY_ASSIGN(client, Client::connect(data.path));
  const double start_ms = ms_since(begin);
  const double memory = master.memory_mib();

  TRY_ASSIGN(one, set_with(*client, 1));
  TRY_ASSIGN(burst, set_with(*client, in_flight_of_burst));
  TRY_ASSIGN(get_ms, time_of(*client, requests::GetJob{cluster::JobId{1}, std::nullopt}));
  requests::ListJobs list;
  list.ended = true;
  list.before = cluster::JobId{ended_jobs / 2};
  list.most = 100;
  TRY_ASSIGN(list_ms, time_of(*client, list));

  const control::Settings settings;
  Figures figures{"scale", {}};
  TRY_ASSIGN(start,
             row_beside_raw("start of a master, 100,000 queued and 1,000,000 ended jobs", start_ms, "ms",
                            "sqlite_read " + std::to_string(settings.ended_jobs_kept) + " " + data.path + "/cadre.db"));
  start.ratio = *start.limit / start_ms;
  figures.rows.push_back(start);
  figures.rows.push_back({"its memory", memory, "MiB", {}, {}});
  figures.rows.push_back({"GET /status while jobs are set, p50", quantile(one.status_ms, 0.5), "ms", {}, {}});
  figures.rows.push_back({"GET /status while jobs are set, p99", quantile(one.status_ms, 0.99), "ms", {}, {}});
  figures.rows.push_back({"job set, p50", quantile(one.set_ms, 0.5), "ms", {}, {}});
  figures.rows.push_back({"job set, p99", quantile(one.set_ms, 0.99), "ms", {}, {}});
  figures.rows.push_back({"job set, 32 in flight", sets / burst.seconds, "1/s", {}, {}});
  figures.rows.push_back({"job set, 32 in flight, p50", quantile(burst.set_ms, 0.5), "ms", {}, {}});
  figures.rows.push_back({"job set, 32 in flight, p99", quantile(burst.set_ms, 0.99), "ms", {}, {}});
  figures.rows.push_back(
      {"GET /status while 32 requests are in flight, p99", quantile(burst.status_ms, 0.99), "ms", {}, {}});
  figures.rows.push_back({"GET of an ended job that is not in memory", get_ms, "ms", {}, {}});
  figures.rows.push_back({"list of 100 ended jobs that are not in memory", list_ms, "ms", {}, {}});
  return figures;
}

}  // namespace cadre::bench
