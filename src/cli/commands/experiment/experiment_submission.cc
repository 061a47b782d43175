#include "cli/commands/experiment/experiment_submission.h"

#include <csignal>

#include "cli/commands/experiment/test_run.h"
#include "cli/commands/experiment/watch.h"
#include "cli/commands/submission.h"

namespace cadre::cli {

loop::Task<int> submit_experiment(CommandContext& session, std::shared_ptr<const ExperimentSubmission> submission) {
  experiment::requests::CreateExperiment request = submission->request;
  if (!submission->folder.empty()) {
    const std::string folder = submission->folder;
    const std::string option = "DIR";
    const auto code = co_await send_code(session, folder, option);
    if (!code) co_return code.error();
    request.code = *code;
  }
  const Result<experiment::ExperimentView> one = co_await ask(session, request, rest::creation_max);
  if (!one) co_return session.complain(one.error());
  if (submission->afterwards == Afterwards::test) {
    const int code = co_await test_experiment(session, *one, submission->client);
    co_return code;
  }
  if (submission->afterwards == Afterwards::follow) {
    auto watching = std::make_shared<const WatchOptions>(WatchOptions{submission->client, one->id, 128 + SIGINT});
    const int code = co_await watch_experiment(session, std::move(watching));
    co_return code;
  }
  if (submission->client.json) {
    print_json(*one);
  } else {
    print(std::to_string(one->id.value) + "\n");
  }
  co_return done;
}

int refuse_experiment(const CLI::App& command, const std::string& faults) {
  const std::string name = full_name(command);
  print_error(faults + name + ": nothing was submitted; " + name +
              " --help lists the options, docs/experiments.md describes the file\n");
  return bad_usage;
}

}  // namespace cadre::cli
