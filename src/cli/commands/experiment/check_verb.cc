#include "cli/command_context.h"
#include "cli/commands/experiment/experiment_file.h"
#include "cli/commands/experiment/verbs.h"
#include "cli/commands/verb.h"
#include "cli/experiment/search_views.h"

namespace cadre::cli {

void add_experiment_check(CLI::App& experiment, Chosen& chosen) {
  CLI::App& command = add_verb(experiment, {"check", "Report all errors in an experiment file",
                                            "  cadre experiment check experiment.yaml\n"
                                            "  cadre experiment check --set searcher.max_trials=20 experiment.yaml\n"
                                            "Needs no master. Exits with 2 if there are errors.\n"});
  const auto options = std::make_shared<ExperimentFileOptions>();
  add_experiment_file(command, *options);
  command.callback([&command, &chosen, options] {
    chosen = [&command, options]() -> int {
      const auto file = read_experiment_file(command, *options);
      if (!file) return bad_usage;
      print("no errors: " + search_words(file->checked) + "\n");
      return done;
    };
  });
}

}  // namespace cadre::cli
