#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

#include "bench/bench.h"
#include "bench/experiments_for_bench.h"
#include "bench/light_agents.h"
#include "cluster/data_folder.h"
#include "experiment/requests/metrics.h"

namespace cadre::bench {
namespace {

using namespace std::chrono_literals;
namespace trials = experiment::requests;
namespace messages = cluster::messages;
using Clock = std::chrono::steady_clock;
using experiment::ExperimentId;
using experiment::TrialId;

constexpr std::size_t short_trials = 2'000;

constexpr std::int64_t many_trials = 10'000;
constexpr int light_agents = 50;
constexpr std::int32_t slots_each = 4;
constexpr std::int64_t max_time = 64;
constexpr std::int64_t divisor = 4;
constexpr Duration rung_time = 200ms;  // that a trial takes from one validation to the next

double passed_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

/// A search of trials that do nothing; trials a second.
Result<double> trials_per_second(ExperimentCluster& cluster, std::size_t trials, std::int64_t at_a_time) {
  const auto begin = Clock::now();
  TRY_ASSIGN(
      id, cluster.submit(R"({"name": "short", "entrypoint": ["true"], "resources": {"slots_per_trial": 0},
                                    "hyperparameters": {"lr": {"type": "double", "min": 0, "max": 1}},
                                    "searcher": {"type": "random", "metric": "loss", "max_trials": )" +
                         std::to_string(trials) + R"(, "max_concurrent_trials": )" + std::to_string(at_a_time) + "}}"));
  TRY(cluster.await_completion(id));
  return static_cast<double>(trials) / passed_since(begin);
}

Result<void> measure_short_trials(std::vector<Row>& rows) {
  TRY_ASSIGN(cluster, ExperimentCluster::start({}));
  TRY_ASSIGN(tasks, tasks_per_second(cluster->client(), short_trials, cluster::Isolation::on));
  rows.push_back({"tasks of `true`", tasks, "1/s", {}, {}});
  TRY_ASSIGN(all, trials_per_second(*cluster, short_trials, 0));
  rows.push_back({"trials of `true`, all at a time", all, "1/s", tasks, all / tasks});
  TRY_ASSIGN(some, trials_per_second(*cluster, short_trials, 16));
  rows.push_back({"trials of `true`, 16 at a time", some, "1/s", tasks, some / tasks});
  return {};
}

// Many trials on agents without processes.

/// What the program of a trial would say: its curve up to each rung, and a validation there, until it is stopped.
loop::Task<void> report_rungs(loop::RealLoop& loop, const LightAgent& agent, const messages::Start& start) {
  const TrialId trial = experiment::parse_trial_id(start.command.variables.at("CADRE_TRIAL")).value();
  rest::Client client(loop, {start.pass.master, start.pass.token, "", ""}, {.connections_max = 1});
  const trials::BeginRun begin{trial};
  const Result<experiment::RunView> run = co_await client.ask(begin, 1min);
  std::int64_t step = 0;
  for (std::int64_t end = 1; run && end <= max_time && !agent.is_stopped(start.lease); end *= divisor) {
    trials::ReportMetrics reports{trial, {}};
    const auto add = [&](const char* group) {
      const double loss = 1.0 / static_cast<double>(step) + 0.001 * (trial.number * 7'919 % 1'000);
      reports.reports.push_back({group, step, describe::Value().set("loss", describe::Value(loss))});
    };
    while (step < end) ++step, add("training");
    add("validation");
    const Result<trials::Reported> stored = co_await client.ask(reports, 1min);
    if (!stored) break;
    co_await loop::sleep(loop, rung_time);
  }
}

std::string many_trials_config() {
  return R"({"name": "many", "entrypoint": ["true"], "seed": 1,
             "hyperparameters": {"lr": {"type": "double", "min": 0, "max": 1}},
             "searcher": {"type": "asha", "metric": "loss", "max_concurrent_trials": )" +
         std::to_string(light_agents * slots_each) + R"(, "max_trials": )" + std::to_string(many_trials) +
         R"(, "max_time": )" + std::to_string(max_time) + R"(, "divisor": )" + std::to_string(divisor) + "}}";
}

/// Waits until the search has ended.
loop::Task<void> await_end(Client& client, ExperimentId id, experiment::ExperimentView& last, bool& is_over) {
  const trials::GetExperiment request{id};
  while (!last.ended) {
    co_await loop::sleep(client.loop(), 100ms);
    Result<experiment::ExperimentView> view = co_await client.connection().ask(request, 2min);
    if (view) last = *std::move(view);
  }
  is_over = true;
}

class ManyTrials {
 public:
  explicit ManyTrials(std::vector<Row>& rows) : rows_(rows), data_{scratch_.path() + "/master"} {}

  Result<void> measure() {
    StderrLog log(Level::error);
    if (::mkdir(data_.path.c_str(), 0700) != 0) return fail(Errc::unavailable, "no folder");
    TRY_ASSIGN(others, LightAgents::enrol(data_, light_agents, log));
    TRY(start());
    TRY(others.start(log_, {slots_each, report_rungs}));
    TRY(client_->until([](const cluster::requests::Status& status) { return status.agents_up == light_agents; }));
    add("memory of the master before", master_->memory_mib(), "MiB");
    TRY_ASSIGN(id, run());
    others.end();
    add("memory of the master after", master_->memory_mib(), "MiB");
    TRY(restart("start of a master, the search has ended"));
    trials::SetExperiment longer;
    longer.experiment = id;
    longer.max_trials = many_trials + 1;
    TRY(client_->ask(longer));
    return restart("start of a master, the search goes on");
  }

 private:
  Result<void> start() {
    const std::vector<std::string> words{"master", "--data", data_.path, "--listen", "127.0.0.1:0", "--port", "0"};
    master_ = std::make_unique<Process>(words, log_);
    TRY_ASSIGN(client, Client::connect(data_.path));
    client_ = std::move(client);
    return {};
  }

  Result<void> restart(const std::string& what) {
    master_.reset();
    ::unlink(data_.client_file().c_str());  // the master writes it again when it can be asked
    const auto begin = Clock::now();
    TRY(start());
    TRY(client_->ask(cluster::requests::GetStatus{}));
    add(what, passed_since(begin), "s");
    add(what + ": its memory", master_->memory_mib(), "MiB");
    return {};
  }

  /// The search to its end, with requests of users meanwhile.
  Result<ExperimentId> run() {
    trials::CreateExperiment create;
    create.config = describe::parse_json(many_trials_config()).value();
    const auto begin = Clock::now();
    TRY_ASSIGN(created, client_->ask(create));
    experiment::ExperimentView last = created;
    bool is_over = false;
    std::vector<loop::Task<void>> all;
    all.push_back(await_end(*client_, created.id, last, is_over));
    const std::vector<cluster::requests::GetStatus> status(1);
    const std::vector<trials::GetExperiment> get{{created.id}};
    std::vector<trials::ListTrials> list(1), best(1), page(1);
    list[0].experiment = best[0].experiment = page[0].experiment = created.id;
    best[0].order = trials::TrialOrder::metric;
    page[0].most = 1'000;
    std::vector<trials::CompareTrials> compare(1);
    compare[0].experiment = created.id;
    const std::vector<trials::GetTrial> describe{{{created.id, 0}}};
    AnswerTimes times[7];
    all.push_back(ask_in_turn(*client_, status, 20ms, is_over, times[0]));
    all.push_back(ask_in_turn(*client_, get, 50ms, is_over, times[1]));
    all.push_back(ask_in_turn(*client_, list, 50ms, is_over, times[2]));
    all.push_back(ask_in_turn(*client_, best, 50ms, is_over, times[3]));
    all.push_back(ask_in_turn(*client_, page, 2s, is_over, times[4]));
    all.push_back(ask_in_turn(*client_, compare, 50ms, is_over, times[5]));
    all.push_back(ask_in_turn(*client_, describe, 50ms, is_over, times[6]));
    client_->run_all(std::move(all));
    const double seconds = passed_since(begin);
    if (last.trials.completed != many_trials) {
      return fail(Errc::unavailable, std::to_string(last.trials.completed) + " trials completed: " + last.reason);
    }
    add("trials", static_cast<double>(many_trials) / seconds, "1/s");
    const char* names[] = {"GET /status",          "GET of the experiment", "list of 100 trials",
                           "list of the best 100", "list of 1,000 trials",  "compare 100 trials",
                           "GET of a trial"};
    for (std::size_t i = 0; i < std::size(names); ++i) {
      TRY(times[i].outcome);
      add(std::string(names[i]) + " meanwhile, p50", quantile(times[i].ms, 0.5), "ms");
      add(std::string(names[i]) + " meanwhile, p99", quantile(times[i].ms, 0.99), "ms");
    }
    return created.id;
  }

  void add(const std::string& what, double value, const std::string& unit) {
    rows_.push_back({"10,000 trials: " + what, value, unit, {}, {}});
  }

  std::vector<Row>& rows_;
  const Scratch scratch_;
  const cluster::DataFolder data_;
  const std::string log_ = scratch_.path() + "/master.log";
  std::unique_ptr<Process> master_;
  std::unique_ptr<Client> client_;
};

}  // namespace

Result<Figures> bench_experiments() {
  Figures figures{"experiments", {}};
  TRY(measure_short_trials(figures.rows));
  TRY(ManyTrials(figures.rows).measure());
  return figures;
}

}  // namespace cadre::bench
