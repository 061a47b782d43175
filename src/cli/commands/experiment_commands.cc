#include "cli/commands/experiment_commands.h"

#include "cli/commands/experiment/verbs.h"
#include "cli/commands/verb.h"

namespace cadre::cli {

void add_experiment_commands(CLI::App& app, Chosen& chosen) {
  CLI::App& noun = add_verb(app, {"experiment", "Submit experiments, follow them and compare their trials",
                                  "  cadre experiment create search.yaml . --follow\n  cadre experiment list\n"
                                  "  cadre experiment best 12\n"});
  noun.require_subcommand(1);
  add_experiment_check(noun, chosen);
  add_experiment_preview(noun, chosen);
  add_experiment_simulate(noun, chosen);
  add_experiment_create(noun, chosen);
  add_experiment_list(noun, chosen);
  add_experiment_describe(noun, chosen);
  add_experiment_watch(noun, chosen);
  add_trial_list(noun, chosen, "trials");
  add_experiment_best(noun, chosen);
  add_experiment_compare(noun, chosen);
  add_metrics(noun, chosen);
  add_experiment_logs(noun, chosen);
  add_experiment_wait(noun, chosen);
  add_experiment_changes(noun, chosen);
  add_experiment_set(noun, chosen);
  add_experiment_fork(noun, chosen);
  add_experiment_export(noun, chosen);
}

void add_trial_commands(CLI::App& app, Chosen& chosen) {
  CLI::App& noun = add_verb(app, {"trial", "Show and stop single trials of experiments",
                                  "  cadre trial list 12\n  cadre trial logs -f 12.3\n"});
  noun.require_subcommand(1);
  add_trial_list(noun, chosen, "list");
  add_trial_describe(noun, chosen);
  add_trial_logs(noun, chosen);
  add_metrics(noun, chosen);
  add_trial_changes(noun, chosen);
}

void add_checkpoint_commands(CLI::App& app, Chosen& chosen) {
  CLI::App& noun =
      add_verb(app, {"checkpoint", "List, download and delete checkpoints of trials", "  cadre checkpoint list 12\n"});
  noun.require_subcommand(1);
  add_checkpoint_verbs(noun, chosen);
}

}  // namespace cadre::cli
