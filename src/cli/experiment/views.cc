#include "cli/experiment/views.h"

#include <algorithm>

#include "base/overloaded.h"
#include "base/shell_words.h"
#include "cli/experiment/numbers.h"
#include "cli/experiment/sparkline.h"
#include "cli/experiment/words.h"
#include "cli/facts.h"
#include "cli/table.h"
#include "cli/words.h"
#include "experiment/config.h"

namespace cadre::cli {
namespace {

using experiment::ExperimentView;
using experiment::Importance;

constexpr std::size_t best_curve_cells = 40;
constexpr std::size_t importance_shown = 10;

std::string searcher_words(const ExperimentView& one, const experiment::Config& config) {
  std::vector<std::string> settings;
  const auto halving = [&](const search::Halving& rungs) {
    settings = {counted(rungs.max_trials, "trial"), "max_time " + std::to_string(rungs.max_time)};
  };
  std::visit(
      overloaded{
          [&](const search::Asha& asha) { halving(asha); },
          [&](const search::AshaPromote& asha) { halving(asha); },
          [&](const search::Random& random) { settings = {counted(random.max_trials, "trial")}; },
          [&](const search::Pbt& pbt) {
            settings = {"population " + std::to_string(pbt.population), "interval " + std::to_string(pbt.interval)};
          },
          [](const auto&) {},
      },
      config.searcher);
  if (config.length) settings.push_back("length " + std::to_string(*config.length));
  return one.searcher + (settings.empty() ? "" : ", " + joined(settings, ", "));
}

std::string resources_words(const experiment::TrialResources& resources) {
  std::vector<std::string> each = {counted(resources.slots_per_trial, "slot")};
  if (resources.cpus.milli > 0) each.push_back(to_string(resources.cpus) + " cpus");
  if (resources.memory.value > 0) each.push_back(short_size(resources.memory) + " of memory");
  std::string words = joined(each, ", ") + " for each trial; pool " + resources.pool + ", priority " +
                      std::to_string(resources.priority);
  if (resources.max_slots) words += ", at most " + counted(*resources.max_slots, "slot");
  return words;
}

std::string retention_words(const experiment::Retention& kept) {
  return "kept: best " + std::to_string(kept.save_experiment_best) + " of the experiment, best " +
         std::to_string(kept.save_trial_best) + " and latest " + std::to_string(kept.save_trial_latest) +
         " of each trial; store " + kept.store;
}

/// What the experiment file says; nothing of one that a newer version wrote.
void add_config(Facts& facts, const ExperimentView& one) {
  if (!one.config) return;
  const auto checked = experiment::read_accepted_config(*one.config);
  if (!checked) return facts.add("searcher", one.searcher);
  facts.add("searcher", searcher_words(one, checked->config));
  facts.add("entrypoint", checked->config.entrypoint.as<std::string>() != nullptr
                              ? *checked->config.entrypoint.as<std::string>()
                              : shell_words(experiment::argv_of(checked->config.entrypoint)));
  std::string space;
  for (const search::Parameter& parameter : checked->space.parameters()) {
    space += (space.empty() ? "" : "; ") + parameter.name() + " " + domain_words(parameter.domain);
  }
  facts.add("hyperparameters", space);
  facts.add("resources", resources_words(checked->config.resources));
  facts.add("checkpoints", retention_words(checked->config.checkpoints));
}

void add_provenance(Facts& facts, const ExperimentView& one) {
  constexpr std::size_t hash_shown = 12;
  facts.add("code", one.code.substr(0, hash_shown));
  if (!one.provenance) return;
  const experiment::Provenance& from = *one.provenance;
  if (!from.git_commit.empty()) {
    facts.add("git commit",
              from.git_commit.substr(0, hash_shown) + (from.git_diff.empty() ? "" : ", with uncommitted changes"));
  }
  facts.add("command", from.command);
  facts.add("submitted from", from.user.empty() ? from.host : from.user + "@" + from.host);
}

std::string importance_text(const ExperimentDetails& details, const std::string& metric, const Showing& showing) {
  if (!details.no_importance.empty()) {
    return "\nimportance of the hyperparameters: " + details.no_importance + "\n";
  }
  if (details.importance.empty()) return "";
  constexpr std::size_t bar_cells = 20;
  const std::string sample = counted(static_cast<std::int64_t>(details.samples), "trial");
  const bool none_stands_out = std::all_of(details.importance.begin(), details.importance.end(),
                                           [](const Importance& each) { return each.share <= 0; });
  if (none_stands_out) {
    return "\nimportance of the hyperparameters: none stands out from chance in " + sample + "\n";
  }
  Table table({"HYPERPARAMETER", "IMPORTANCE", ""});
  for (std::size_t i = 0; i < std::min(details.importance.size(), importance_shown); ++i) {
    const Importance& one = details.importance[i];
    std::string filled = bar(one.share, bar_cells);
    while (filled.ends_with(' ')) filled.pop_back();
    table.add({one.name, percent_text(one.share), filled});
  }
  std::string text = "\nshare of the variance of the rank by " + metric + ", of " + sample + "\n";
  if (details.samples < experiment::importance_trials_reliable) {
    text += "a rough indication only: with fewer than " + std::to_string(experiment::importance_trials_reliable) +
            " trials, chance can look like importance\n";
  }
  if (details.stops_early) {
    text += "each trial counts with its best value, also one that was stopped early\n";
  }
  return text + table.to_text(showing.coloured);
}

}  // namespace

std::string experiments_text(const std::vector<ExperimentView>& experiments, const Showing& showing) {
  Table table({"EXPERIMENT", "NAME", "STATE", "PROGRESS", "TRIALS", "RUNNING", "FAILED", "SEARCHER", "BEST", "OWNER",
               "CREATED", "RUNTIME"});
  for (const ExperimentView& one : experiments) {
    table.add({std::to_string(one.id.value), one.name, state_words(one), percent_text(one.progress),
               std::to_string(one.trials.created), std::to_string(one.trials.running),
               std::to_string(one.trials.failed), one.searcher,
               one.best ? one.metric + " " + number_text(one.best->metric) : "", one.owner,
               ago(one.created, showing.now), ran(one.created, one.ended, showing.now)});
  }
  return table.to_text(showing.coloured);
}

std::string experiment_text(const ExperimentView& one, const ExperimentDetails& details, const Showing& showing) {
  Facts facts;
  facts.add("experiment", std::to_string(one.id.value));
  facts.add("name", one.name);
  facts.add("description", one.description);
  facts.add("state", state_words(one) + (one.reason.empty() ? "" : ": " + one.reason));
  facts.add("progress", percent_text(one.progress));
  facts.add("trials", count_words(one));
  facts.add("waiting", details.waiting);
  if (one.restarts > 0) facts.add("restarts", std::to_string(one.restarts));
  facts.add("metric", one.metric + " (" + (one.smaller_is_better ? "smaller" : "larger") + " is better)");
  facts.add("best trial", best_words(one));
  if (details.best) {
    const experiment::TrialView& best = *details.best;
    facts.add("  hyperparameters", hyperparameters_line(best.hyperparameters));
    if (best.latest_checkpoint) facts.add("  checkpoint", best.latest_checkpoint->value);
    if (const auto curve = details.curves.find(best.id); curve != details.curves.end()) {
      facts.add("  " + one.metric, sparkline(values_of(curve->second), best_curve_cells));
    }
  }
  add_config(facts, one);
  facts.add("seed", std::to_string(one.seed));
  facts.add("labels", joined(one.labels, ", "));
  facts.add("notes", one.notes);
  facts.add("owner", one.owner);
  facts.add("workspace", one.workspace);
  facts.add("project", one.project);
  if (one.parent) facts.add("fork of", std::to_string(one.parent->value));
  facts.add("created", with_time(one.created, showing.now));
  facts.add("ended", with_time(one.ended, showing.now));
  add_provenance(facts, one);
  return facts.to_text(showing.coloured) + importance_text(details, one.metric, showing);
}

}  // namespace cadre::cli
