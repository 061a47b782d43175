#include "cli/commands/experiment/experiment_file.h"
#include "cli/commands/experiment/experiment_submission.h"
#include "cli/commands/experiment/provenance.h"
#include "cli/commands/experiment/targets.h"
#include "cli/commands/experiment/test_run.h"
#include "cli/commands/experiment/verbs.h"
#include "cli/commands/submission.h"

namespace cadre::cli {
namespace {

namespace requests = experiment::requests;

struct CreateOptions {
  ClientOptions client;
  std::string file;
  std::string folder;
  std::string name;
  std::vector<std::string> settings;
  std::string warm_start;
  bool follow = false;
  bool test = false;
  bool paused = false;
};

Afterwards afterwards_of(bool follow, bool test) {
  return test ? Afterwards::test : follow ? Afterwards::follow : Afterwards::exit;
}

/// Reads and checks the file before it connects to a master.
int create(const CLI::App& command, const CreateOptions& options) {
  auto file = read_experiment_file(options.file, options.settings);
  if (!file) return refuse_experiment(command, file.error());
  const std::string missing = options.folder.empty() ? file_of_code(file->checked.config) : "";
  if (!missing.empty()) {
    print_error(full_name(command) + ": warning: no folder with code was given, so trials will not find " +
                describe::escaped_lines(missing) +
                ", which the entrypoint names; pass the folder that contains it as DIR\n");
  }
  auto submission = std::make_shared<ExperimentSubmission>();
  submission->client = settled(command, options.client);
  submission->folder = options.folder;
  submission->afterwards = afterwards_of(options.follow, options.test);
  if (!options.name.empty()) file->tree.set("name", describe::Value(options.name));
  submission->request.config = options.test ? test_config(file->tree) : std::move(file->tree);
  submission->request.provenance = provenance_of(options.folder);
  submission->request.warm_start = options.warm_start;
  submission->request.paused = options.paused;
  return with_master(full_name(command), submission->client,
                     [submission](CommandContext& session) { return submit_experiment(session, submission); });
}

struct ForkOptions {
  ClientOptions client;
  experiment::ExperimentId experiment;
  std::string name;
  std::vector<std::string> settings;
  std::string warm_start;
  bool follow = false;
  bool paused = false;
  bool same_seed = false;  ///< cadre experiment reproduce
};

loop::Task<int> fork_experiment(CommandContext& session, std::shared_ptr<const ForkOptions> options) {
  const std::string id = std::to_string(options->experiment.value);
  const Result<experiment::ExperimentView> parent = co_await ask(session, requests::GetExperiment{options->experiment});
  if (!parent) co_return session.complain(parent.error());
  if (!parent->config) {
    co_return session.complain(failed, "the master returned no file of experiment " + id +
                                           "; check that `cadre` and the master have the same version");
  }
  describe::Value tree = *parent->config;
  if (!options->name.empty()) tree.set("name", describe::Value(options->name));
  if (options->same_seed) tree.set("seed", describe::Value(parent->seed));
  const std::string name = "experiment " + id;
  auto file = check_experiment(std::move(tree), name, options->settings);
  if (!file) {
    print_error(file.error() + session.name + ": nothing was submitted\n");
    co_return bad_usage;
  }
  auto submission = std::make_shared<ExperimentSubmission>();
  submission->client = options->client;
  submission->afterwards = afterwards_of(options->follow, false);
  requests::CreateExperiment& request = submission->request;
  request.config = std::move(file->tree);
  request.code = parent->code;
  request.parent = options->experiment;
  request.warm_start = options->warm_start;
  request.paused = options->paused;
  request.provenance = provenance_of("");
  if (parent->provenance) {  // the code is the same
    request.provenance.git_commit = parent->provenance->git_commit;
    request.provenance.git_diff = parent->provenance->git_diff;
  }
  const std::shared_ptr<const ExperimentSubmission> shared = std::move(submission);
  const int code = co_await submit_experiment(session, shared);
  co_return code;
}

void add_follow(CLI::App& command, bool& follow) {
  command.add_flag("-f,--follow", follow, "Show the search until it has ended; exits with 0 only if it completed");
}

}  // namespace

void add_experiment_create(CLI::App& noun, Chosen& chosen) {
  const auto options = std::make_shared<CreateOptions>();
  CLI::App& command =
      add_verb(noun,
               {"create", "Submit an experiment and print its ID",
                "  cadre experiment create search.yaml .\n"
                "  cadre experiment create search.yaml . --set searcher.max_trials=100 --follow\n"
                "  cadre experiment create search.yaml . --test\n"
                "  cadre experiment create search.yaml . --warm-start 12.7\n"
                "--test runs one trial of one step, with a checkpoint, and then a second time from that checkpoint:\n"
                "searcher single, length 1, validate_every 1, checkpoint_every 1, max_restarts 0. It says whether\n"
                "training, reporting, saving and restoring worked, and exits with 0 if all of them did.\n"
                "With --follow, Ctrl-C leaves the experiment running.\n"},
               options->client);
  command.add_option("file", options->file, "Experiment file (docs/experiments.md); - reads standard input")
      ->required()
      ->type_name("FILE");
  command
      .add_option("folder", options->folder,
                  "Pack this folder, except what its .cadreignore lists, and run the trials in it")
      ->type_name("DIR");
  command.add_option("--name", options->name, "Name of the experiment; default: that of the file")->type_name("NAME");
  add_set_option(command, options->settings);
  add_follow(command, options->follow);
  CLI::Option* test = command.add_flag("--test", options->test, "Test the program with one short trial");
  command.add_flag("--paused", options->paused, "Create it paused; cadre experiment activate starts it")
      ->excludes(test);
  add_warm_start(command, options->warm_start);
  command.callback(
      [&command, &chosen, options] { chosen = [&command, options] { return create(command, *options); }; });
}

void add_experiment_fork(CLI::App& noun, Chosen& chosen) {
  const auto options = std::make_shared<ForkOptions>();
  CLI::App& command = add_verb(noun,
                               {"fork", "Submit an experiment with the file and the code of another one",
                                "  cadre experiment fork 12 --set hyperparameters.lr=0.01\n"
                                "  cadre experiment fork 12 --name longer --set searcher.max_time=20000 --follow\n"
                                "  cadre experiment fork 12 --warm-start 12.7\n"},
                               options->client);
  add_experiment(command, options->experiment);
  command.add_option("--name", options->name, "Name of the new experiment; default: that of the old one")
      ->type_name("NAME");
  add_set_option(command, options->settings);
  add_follow(command, options->follow);
  command.add_flag("--paused", options->paused, "Create it paused; cadre experiment activate starts it");
  add_warm_start(command, options->warm_start);
  on_choice(command, chosen, options, fork_experiment);

  const auto same = std::make_shared<ForkOptions>();
  same->same_seed = true;
  CLI::App& reproduce = add_verb(
      noun,
      {"reproduce", "Submit an experiment again: the same file, code and seed", "  cadre experiment reproduce 12\n"},
      same->client);
  add_experiment(reproduce, same->experiment);
  add_follow(reproduce, same->follow);
  on_choice(reproduce, chosen, same, fork_experiment);
}

}  // namespace cadre::cli
