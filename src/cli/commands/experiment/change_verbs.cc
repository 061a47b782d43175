#include <unistd.h>

#include <algorithm>
#include <array>

#include "cli/commands/experiment/targets.h"
#include "cli/commands/experiment/verbs.h"
#include "cli/experiment/words.h"
#include "cli/words.h"
#include "describe/utf8.h"
#include "experiment/requests/trials.h"

namespace cadre::cli {
namespace {

namespace requests = experiment::requests;
using experiment::ExperimentId;
using experiment::ExperimentView;
using experiment::TrialId;
using experiment::TrialView;

/// The state after a change, in words.
std::string changed_words(const ExperimentView& one) {
  std::string text = "experiment " + std::to_string(one.id.value) + " is " + state_words(one);
  if (one.state != experiment::ExperimentState::active && one.trials.running > 0) {
    const auto running = static_cast<std::int64_t>(one.trials.running);
    text += "; " + counted(running, "trial") + (running == 1 ? " is" : " are") + " still stopping";
  }
  return text;
}

std::string changed_words(const TrialView& one) {
  return "trial " + to_string(one.id) + " is " + std::string(describe::name_of(one.state)) +
         (one.reason.empty() ? "" : ": " + one.reason);
}

template <class Id, class View>
struct ChangeOptions {
  ClientOptions client;
  std::vector<Id> targets;
  loop::Task<Result<View>> (*change)(CommandContext&, Id) = nullptr;
  bool yes = false;  ///< do not ask
  bool deletes = false;
};
using ExperimentChange = ChangeOptions<ExperimentId, ExperimentView>;
using TrialChange = ChangeOptions<TrialId, TrialView>;

/// Changes one after the other; a failure does not spare the others.
template <class Id, class View>
loop::Task<int> change_all(CommandContext& session, std::shared_ptr<const ChangeOptions<Id, View>> options) {
  int code = done;
  std::vector<View> changed;
  for (const Id id : options->targets) {
    Result<View> one = co_await options->change(session, id);
    if (!one) {
      const int bad = session.complain(one.error());
      code = code == done ? bad : code;
      continue;
    }
    if (!options->client.json) print(describe::escaped(changed_words(*one)) + "\n");
    changed.push_back(*std::move(one));
  }
  if (options->client.json && options->targets.size() > 1) print_json(changed);
  if (options->client.json && options->targets.size() == 1 && !changed.empty()) print_json(changed.front());
  co_return code;
}

template <class Request>
loop::Task<Result<ExperimentView>> change_experiment(CommandContext& session, ExperimentId id) {
  return ask(session, Request{id});
}

template <bool is_archived>
loop::Task<Result<ExperimentView>> set_archived(CommandContext& session, ExperimentId id) {
  requests::SetExperiment request;
  request.experiment = id;
  request.archived = is_archived;
  return ask(session, request);
}

template <class Request>
loop::Task<Result<TrialView>> change_trial(CommandContext& session, TrialId id) {
  return ask(session, Request{id});
}

template <class Request>
void add_change(CLI::App& noun, Chosen& chosen, const Verb& verb) {
  const auto options = std::make_shared<ExperimentChange>();
  options->change = change_experiment<Request>;
  CLI::App& command = add_verb(noun, verb, options->client);
  add_experiments(command, options->targets);
  on_choice(command, chosen, options, change_all<ExperimentId, ExperimentView>);
}

template <bool is_archived>
void add_archive(CLI::App& noun, Chosen& chosen, const Verb& verb) {
  const auto options = std::make_shared<ExperimentChange>();
  options->change = set_archived<is_archived>;
  CLI::App& command = add_verb(noun, verb, options->client);
  add_experiments(command, options->targets);
  on_choice(command, chosen, options, change_all<ExperimentId, ExperimentView>);
}

template <class Request>
void add_trial_change(CLI::App& noun, Chosen& chosen, const Verb& verb) {
  const auto options = std::make_shared<TrialChange>();
  options->change = change_trial<Request>;
  CLI::App& command = add_verb(noun, verb, options->client);
  add_trials(command, options->targets);
  on_choice(command, chosen, options, change_all<TrialId, TrialView>);
}

/// Asks at a terminal whether to go on; without one, the command itself is the answer.
bool is_confirmed(const ExperimentChange& options) {
  if (options.yes || isatty(0) != 1 || isatty(2) != 1) return true;
  std::string what = options.targets.size() == 1
                         ? "experiment " + std::to_string(options.targets.front().value)
                         : counted(static_cast<std::int64_t>(options.targets.size()), "experiment");
  print_error("Delete " + what + " with all metrics and checkpoints? This cannot be undone. [y/N] ");
  std::array<char, 256> line{};
  const ssize_t count = ::read(0, line.data(), line.size());
  const std::string_view answer(line.data(), static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  return answer == "y\n" || answer == "Y\n" || answer == "yes\n";
}

void add_delete(CLI::App& noun, Chosen& chosen) {
  const auto options = std::make_shared<ExperimentChange>();
  options->change = change_experiment<requests::DeleteExperiment>;
  CLI::App& command = add_verb(noun,
                               {"delete", "Delete experiments that have ended, with their metrics and checkpoints",
                                "  cadre experiment delete 12\n  cadre experiment delete --yes 12 13\n"},
                               options->client);
  add_experiments(command, options->targets);
  command.add_flag("--yes", options->yes, "Do not ask for confirmation; without a terminal, none is asked for");
  command.callback([&command, &chosen, options] {
    chosen = [&command, options] {
      if (!is_confirmed(*options)) {
        print_error(full_name(command) + ": nothing was deleted\n");
        return static_cast<int>(failed);
      }
      return with_master(full_name(command), settled(command, options->client), [options](CommandContext& session) {
        return change_all<ExperimentId, ExperimentView>(session, options);
      });
    };
  });
}

}  // namespace

void add_experiment_changes(CLI::App& noun, Chosen& chosen) {
  add_change<requests::PauseExperiment>(
      noun, chosen,
      {"pause", "Stop the trials gracefully and free their slots until the experiments are activated",
       "  cadre experiment pause 12\n  cadre experiment pause 12 13\n"});
  add_change<requests::ActivateExperiment>(
      noun, chosen, {"activate", "Resume paused experiments", "  cadre experiment activate 12\n"});
  add_change<requests::CancelExperiment>(
      noun, chosen,
      {"cancel", "End experiments; their trials are stopped gracefully", "  cadre experiment cancel 12 13\n"});
  add_change<requests::KillExperiment>(
      noun, chosen, {"kill", "End experiments; their trials are killed immediately", "  cadre experiment kill 12\n"});
  add_archive<true>(noun, chosen,
                    {"archive", "Hide experiments that have ended from lists", "  cadre experiment archive 12 13\n"});
  add_archive<false>(noun, chosen,
                     {"unarchive", "List archived experiments again", "  cadre experiment unarchive 12\n"});
  add_delete(noun, chosen);
}

void add_trial_changes(CLI::App& noun, Chosen& chosen) {
  add_trial_change<requests::CancelTrial>(
      noun, chosen, {"cancel", "Stop trials gracefully, for good", "  cadre trial cancel 12.3\n"});
  add_trial_change<requests::KillTrial>(noun, chosen,
                                        {"kill", "Kill trials immediately", "  cadre trial kill 12.3 12.4\n"});
  add_trial_change<requests::ContinueTrial>(
      noun, chosen,
      {"continue", "Run trials that have ended again, from their latest checkpoints", "  cadre trial continue 12.3\n"});
}

}  // namespace cadre::cli
