#include "bench/experiments_for_bench.h"

#include <unistd.h>

#include <utility>

namespace cadre::bench {

Result<std::unique_ptr<ExperimentCluster>> ExperimentCluster::start(const Options& options) {
  std::unique_ptr<ExperimentCluster> cluster(new ExperimentCluster());
  const std::string folder = cluster->folder();
  const std::string data = folder + "/master";
  std::vector<std::string> arguments{"master", "--data", data, "--port", "0"};
  if (!options.database.empty()) arguments.insert(arguments.end(), {"--database", options.database});
  cluster->master_ = std::make_unique<Process>(arguments, folder + "/master.log");
  TRY_ASSIGN(client, Client::connect(data));
  cluster->client_ = std::move(client);
  const std::vector<std::string> agent{"agent",
                                       "--master",
                                       data,
                                       "--data",
                                       folder + "/agent",
                                       "--allow-isolation-off",
                                       "--artificial-slots",
                                       std::to_string(options.slots)};
  cluster->agent_ = std::make_unique<Process>(agent, folder + "/agent.log");
  TRY(cluster->client_->until([](const cluster::requests::Status& status) { return status.agents_up == 1; }));
  return cluster;
}

Result<experiment::ExperimentId> ExperimentCluster::submit(const std::string& config_json) {
  auto config = describe::parse_json(config_json);
  if (!config) return Failure(describe::to_error(config.error(), "the experiment of the benchmark"));
  experiment::requests::CreateExperiment request;
  request.config = *std::move(config);
  TRY_ASSIGN(view, client_->ask(request));
  return view.id;
}

Result<void> ExperimentCluster::await_completion(experiment::ExperimentId id) {
  for (;;) {
    TRY_ASSIGN(view, client_->ask(experiment::requests::GetExperiment{id}));
    if (view.ended) {
      if (view.trials.completed == view.trials.created) return {};
      return fail(Errc::unavailable, "not all trials completed: " + view.reason);
    }
    ::usleep(5'000);
  }
}

}  // namespace cadre::bench
