#include "cli/command_context.h"
#include "cli/commands/experiment/experiment_file.h"
#include "cli/commands/experiment/verbs.h"
#include "cli/commands/verb.h"
#include "cli/experiment/search_views.h"
#include "cli/table.h"

namespace cadre::cli {
namespace {

struct PreviewOptions {
  ExperimentFileOptions file;
  bool json = false;
};

int run_preview(const CLI::App& command, const PreviewOptions& options) {
  const auto file = read_experiment_file(command, options.file);
  if (!file) return bad_usage;
  const experiment::Config& config = file->checked.config;
  const search::Preview preview = search::preview(config.searcher, file->checked.space, config.length.value_or(0));
  if (options.json) {
    print_json(preview);
  } else {
    print(preview_text(preview, config, takes_colours(1)));
  }
  return done;
}

}  // namespace

void add_experiment_preview(CLI::App& experiment, Chosen& chosen) {
  CLI::App& command = add_verb(experiment, {"preview", "Show how many trials an experiment would run how far",
                                            "  cadre experiment preview experiment.yaml\n"
                                            "  cadre experiment preview --set searcher.max_trials=20 experiment.yaml\n"
                                            "Needs no master. At every rung, as many trials go on as its searcher "
                                            "allows.\n"});
  const auto options = std::make_shared<PreviewOptions>();
  add_experiment_file(command, options->file);
  command.add_flag("--json", options->json, "Print one JSON value");
  command.callback(
      [&command, &chosen, options] { chosen = [&command, options] { return run_preview(command, *options); }; });
}

}  // namespace cadre::cli
