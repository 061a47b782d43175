#include "cli/commands/submission.h"
#include "cli/follow.h"
#include "cli/job_options.h"

namespace cadre::cli {
namespace {

struct RunOptions {
  ClientOptions client;
  JobOptions job;
  bool detach = false;  ///< cadre run
  bool follow = false;  ///< cadre task run
};

/// The words are read before anybody is spoken to.
int run(const CLI::App& command, const RunOptions& options) {
  auto spec = make_job(options.job);
  if (!spec) return refuse(command, spec.error());
  return submit(command, {options.client, *std::move(spec), options.job.code, options.follow, name_among});
}

void choose(CLI::App& command, Chosen& chosen, const std::shared_ptr<RunOptions>& options) {
  command.callback([&command, &chosen, options] {
    chosen = [&command, options] {
      if (command.get_name() == "run" && options->detach) options->follow = false;
      return run(command, *options);
    };
  });
}

}  // namespace

void add_run_command(CLI::App& app, Chosen& chosen) {
  const auto options = std::make_shared<RunOptions>();
  CLI::App& command = add_verb(app,
                               {"run", "Run a command on the cluster, with its output here and its exit code",
                                "  cadre run -- hostname\n"
                                "  cadre run --slots 1 --memory 8GiB --dir . -- python3 train.py --epochs 3\n"
                                "  cadre run --count 4 --env MODE=test -- ./worker\n"
                                "  cadre run --detach --file job.yaml\n"
                                "Ctrl-C stops the job, a second one kills it.\n"
                                "Ends with the task's own exit code, 128 and the number of a signal that ended it, "
                                "and 1 for other ends.\n"},
                               options->client);
  options->follow = true;
  command.add_flag("--detach", options->detach, "Do not wait: print the id of the job");
  add_job_options(command, options->job);
  choose(command, chosen, options);
}

void add_task_run_command(CLI::App& task, Chosen& chosen) {
  const auto options = std::make_shared<RunOptions>();
  CLI::App& command = add_verb(task,
                               {"run", "Submit a job and print its id",
                                "  cadre task run --slots 2 -- python3 train.py\n"
                                "  cadre task run --follow -- hostname\n"},
                               options->client);
  command.add_flag("--follow", options->follow, "Show its output here and end with its exit code, as cadre run does");
  add_job_options(command, options->job);
  choose(command, chosen, options);
}

}  // namespace cadre::cli
