#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <thread>
#include <utility>

#include "bench/bench.h"
#include "bench/experiments_for_bench.h"
#include "experiment/requests/metrics.h"
#include "tests/servers/postgres.h"
#include "tests/servers/scratch.h"

namespace cadre::bench {
namespace {

using namespace std::chrono_literals;
namespace trials = experiment::requests;
using Clock = std::chrono::steady_clock;
using experiment::ExperimentId;
using experiment::TrialId;

constexpr std::uint32_t reporters = 8;
constexpr std::int64_t task_points = 4'000'000;  // of all tasks
constexpr std::int64_t chart_points = 10'000'000;
constexpr std::int64_t batch = 5'000;  // reports that a task sends at once
constexpr auto starting_time = 2s;     // until all tasks run
constexpr std::int32_t chart_width = 1'000;
constexpr int charts_timed = 21;
constexpr double spike = 1'000'000;
constexpr std::string_view group = "training";
constexpr std::string_view metric = "loss";

/// What each of some trials reports.
struct Load {
  std::uint32_t trials = reporters;
  std::int64_t reports = 0;
  std::int64_t values = 1;    ///< metrics in each report
  std::int64_t spike_at = 0;  ///< steps of one large value; 0: none

  [[nodiscard]] double all_points() const { return static_cast<double>(trials * reports * values); }
};

/// As bench/metric_reporter.cc has it.
double value_at(std::int64_t step) { return static_cast<double>(step * 7'919 % 1'000); }

struct Ingested {
  ExperimentId id;
  double points_per_second = 0;
  AnswerTimes status;
  AnswerTimes chart;
  AnswerTimes compare;
};

/// When the last point was stored, if no point is lost or doubled: their counts and sums are those that were reported.
Result<double> check(Client& client, ExperimentId id, const Load& load) {
  double end = 0, sum = 0;
  for (std::int64_t step = 1; step <= load.reports; ++step) sum += step == load.spike_at ? spike : value_at(step);
  for (std::uint32_t number = 0; number < load.trials; ++number) {
    TRY_ASSIGN(trial, client.ask(trials::GetTrial{TrialId{id, number}}));
    std::int64_t right = 0;
    for (const experiment::MetricSummary& one : trial.metrics) {
      if (one.group != group) {
        end = std::max(end, one.mean.value_or(0));
        continue;
      }
      const double stored = one.mean.value_or(0) * static_cast<double>(one.count);
      if (std::cmp_equal(one.count, load.reports) && std::abs(stored - sum) < 0.25) ++right;
    }
    if (right != load.values)
      return fail(Errc::corrupt, "points of trial " + to_string(trial.id) + " were lost or doubled");
  }
  return end;
}

std::string config_of(const Load& load, double begin) {
  return R"({"name": "load", "entrypoint": [")" + raw_program("../metric_reporter") +
         R"("], "environment": {"isolation": "off"}, "max_restarts": 0, "hyperparameters": {"begin": )" +
         describe::to_text(begin) + R"(, "reports": )" + std::to_string(load.reports) + R"(, "values": )" +
         std::to_string(load.values) + R"(, "spike_at": )" + std::to_string(load.spike_at) +
         R"(}, "searcher": {"type": "random", "metric": "loss", "max_trials": )" + std::to_string(load.trials) + "}}";
}

trials::GetCurve curve_of(TrialId trial) {
  trials::GetCurve curve;
  curve.trial = trial;
  curve.group = group;
  curve.name = metric;
  curve.most = chart_width;
  return curve;
}

loop::Task<void> await_end(Client& client, ExperimentId id, bool& is_over) {
  const trials::GetExperiment request{id};
  while (!is_over) {
    co_await loop::sleep(client.loop(), 100ms);
    const Result<experiment::ExperimentView> view = co_await client.connection().ask(request, 2min);
    is_over = !view || view->ended;
  }
}

/// Runs trials that report all that they can, and asks for status and charts meanwhile.
Result<Ingested> ingest(ExperimentCluster& cluster, const Load& load) {
  const Clock::time_point begin = Clock::now() + starting_time;
  const double begin_seconds = std::chrono::duration<double>(begin.time_since_epoch()).count();
  TRY_ASSIGN(id, cluster.submit(config_of(load, begin_seconds)));
  std::this_thread::sleep_until(begin);
  std::vector<trials::GetCurve> curves;
  for (std::uint32_t number = 0; number < load.trials; ++number) curves.push_back(curve_of({id, number}));
  std::vector<trials::CompareTrials> compare(1);
  compare.front().experiment = id;
  compare.front().group = group;
  const std::vector<cluster::requests::GetStatus> status(1);
  Client& client = cluster.client();
  Ingested ingested;
  ingested.id = id;
  bool is_over = false;
  std::vector<loop::Task<void>> all;
  all.push_back(await_end(client, id, is_over));
  all.push_back(ask_in_turn(client, status, 5ms, is_over, ingested.status));
  all.push_back(ask_in_turn(client, curves, 20ms, is_over, ingested.chart));
  all.push_back(ask_in_turn(client, compare, 200ms, is_over, ingested.compare));
  client.run_all(std::move(all));
  for (const AnswerTimes* times : {&ingested.status, &ingested.chart, &ingested.compare}) TRY(times->outcome);
  TRY(cluster.await_completion(id));
  TRY_ASSIGN(end, check(client, id, load));
  ingested.points_per_second = load.all_points() / (end - begin_seconds);
  return ingested;
}

struct Engine {
  std::string name;
  std::string database;  ///< URL; empty: SQLite
  std::string raw;       ///< the raw program and its last argument
};

std::string raw_command(const Engine& engine) {
  const std::size_t space = engine.raw.find(' ');
  return engine.raw.substr(0, space) + " " + std::to_string(task_points) + " " + std::to_string(reporters) + " " +
         std::to_string(batch) + engine.raw.substr(space);
}

Result<void> measure_tasks(const Engine& engine, std::vector<Row>& rows) {
  TRY_ASSIGN(cluster, ExperimentCluster::start({engine.database, reporters}));
  for (const std::int64_t values : {std::int64_t{1}, std::int64_t{8}}) {
    TRY_ASSIGN(ingested, ingest(*cluster, {.reports = task_points / reporters / values, .values = values}));
    const std::string name = engine.name + ", 8 tasks, reports of " + (values == 1 ? "1 metric" : "8 metrics");
    TRY_ASSIGN(row, row_beside_raw(name, ingested.points_per_second, "points/s", raw_command(engine)));
    rows.push_back(std::move(row));
    const auto add = [&](const std::string& what, const AnswerTimes& times) {
      rows.push_back({name + ": " + what + ", p50", quantile(times.ms, 0.5), "ms", {}, {}});
      rows.push_back({name + ": " + what + ", p99", quantile(times.ms, 0.99), "ms", {}, {}});
    };
    add("GET /status meanwhile", ingested.status);
    add("chart of a trial meanwhile", ingested.chart);
    add("charts of all trials meanwhile", ingested.compare);
  }
  return {};
}

/// The spike must be where it was reported.
Result<void> find_spike(const trials::Curve& curve, const Load& load) {
  for (const trials::CurvePoint& point : curve.points) {
    if (point.first <= load.spike_at && load.spike_at <= point.last && point.max == spike) return {};
  }
  return fail(Errc::corrupt, "the chart does not show the spike at " + std::to_string(load.spike_at) + " steps");
}

Result<void> measure_chart(std::vector<Row>& rows) {
  TRY_ASSIGN(cluster, ExperimentCluster::start({}));
  const Load load{.trials = 1, .reports = chart_points, .spike_at = chart_points / 3};
  const double memory_before = cluster->master().memory_mib();
  TRY_ASSIGN(ingested, ingest(*cluster, load));
  const double memory_after = cluster->master().memory_mib();
  const std::string name = "10,000,000 points of one task";
  rows.push_back({name, ingested.points_per_second, "points/s", {}, {}});
  rows.push_back({name + ": memory of the master before", memory_before, "MiB", {}, {}});
  rows.push_back({name + ": memory of the master after", memory_after, "MiB", {}, {}});
  rows.push_back({name + ": GET /status meanwhile, p99", quantile(ingested.status.ms, 0.99), "ms", {}, {}});
  std::vector<double> times;
  for (int i = 0; i < charts_timed; ++i) {
    const auto begin = Clock::now();
    TRY_ASSIGN(curve, cluster->client().ask(curve_of({ingested.id, 0})));
    times.push_back(std::chrono::duration<double, std::milli>(Clock::now() - begin).count());
    TRY(find_spike(curve, load));
  }
  TRY_ASSIGN(row, row_beside_raw("chart of them, 1,000 points, p50", quantile(times, 0.5), "ms",
                                 "sqlite_pyramid " + cluster->database_file() + " " + std::to_string(chart_width)));
  row.ratio = *row.limit / row.value;
  rows.push_back(std::move(row));
  return {};
}

}  // namespace

Result<Figures> bench_metrics() {
  Figures figures{"metrics", {}};
  const Scratch scratch;
  TRY(measure_tasks({"SQLite", "", "sqlite_points " + scratch.path() + "/raw.db"}, figures.rows));
  try {
    const servers::TempDir folder;
    const servers::PostgresServer server({folder.path(), "", {"fsync=on", "shared_buffers=128MB"}});
    TRY(measure_tasks({"PostgreSQL", server.url(), "postgres_points '" + server.url() + "'"}, figures.rows));
  } catch (const std::runtime_error& error) {
    return fail(Errc::unavailable, error.what());
  }
  TRY(measure_chart(figures.rows));
  return figures;
}

}  // namespace cadre::bench
