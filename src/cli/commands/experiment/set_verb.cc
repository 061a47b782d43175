#include <algorithm>

#include "cli/commands/experiment/targets.h"
#include "cli/commands/experiment/verbs.h"
#include "cli/commands/show.h"
#include "cli/described_options.h"
#include "cli/experiment/views.h"
#include "experiment/requests/experiments.h"

namespace cadre::cli {
namespace {

namespace requests = experiment::requests;
using describe::Value;
using experiment::ExperimentId;
using experiment::ExperimentView;
using Form = DescribedOption::Form;

constexpr std::array set_options = {
    DescribedOption{"--name", "name", Form::text, "NAME"},
    DescribedOption{"--description", "description", Form::text, "TEXT"},
    DescribedOption{"--label", "labels", Form::list, "LABEL"},
    DescribedOption{"--notes", "notes", Form::text, "TEXT"},
    DescribedOption{"--priority", "priority", Form::number, "NUMBER"},
    DescribedOption{"--weight", "weight", Form::number, "NUMBER"},
    DescribedOption{"--max-slots", "max_slots", Form::number, "NUMBER"},
    DescribedOption{"--max-trials", "max_trials", Form::number, "NUMBER"},
    DescribedOption{"--max-concurrent-trials", "max_concurrent_trials", Form::number, "NUMBER"},
    DescribedOption{"--save-experiment-best", "save_experiment_best", Form::number, "NUMBER"},
    DescribedOption{"--save-trial-best", "save_trial_best", Form::number, "NUMBER"},
    DescribedOption{"--save-trial-latest", "save_trial_latest", Form::number, "NUMBER"},
};

struct SetOptions {
  ClientOptions client;
  std::vector<std::string> words;  ///< IDs and `key=value`
  GivenOptions given;
};

/// What is to be changed, in which experiments.
struct Setting {
  std::vector<ExperimentId> experiments;
  requests::SetExperiment request;
};

/// The value of a field as it is typed: text stays text, a list may be written with commas.
Value typed_value(const describe::FieldShape& field, const std::string& text) {
  const describe::Shape& shape =
      field.shape.kind == describe::Shape::Kind::optional ? field.shape.parts.front() : field.shape;
  const Value* type = shape.schema.find("type");
  if (type != nullptr && *type == Value("string")) return Value(text);
  auto parsed = describe::parse_yaml(text);
  if (shape.kind != describe::Shape::Kind::list) return parsed ? *std::move(parsed) : Value(text);
  if (parsed && parsed->as<Value::List>() != nullptr) return *std::move(parsed);
  Value::List list;
  for (std::size_t at = 0; !text.empty() && at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    list.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  return Value(std::move(list));
}

void put_assignment(Value& tree, const describe::Shape& shape, const std::string& word, std::string& faults) {
  const std::string key = word.substr(0, word.find('='));
  const auto field = std::find_if(shape.fields.begin(), shape.fields.end(), [&](const describe::FieldShape& one) {
    return one.key == key && one.key != "experiment";
  });
  if (field != shape.fields.end()) {
    tree.set(key, typed_value(*field, word.substr(word.find('=') + 1)));
    return;
  }
  std::vector<std::string_view> known;
  for (const describe::FieldShape& one : shape.fields) {
    if (one.key != "experiment") known.push_back(one.key);
  }
  faults += key + ": cannot be set;" + describe::suggestion(key, known) + "\n";
}

/// All faults at once, a line for each.
tl::expected<Setting, std::string> read_setting(const SetOptions& options) {
  Setting setting;
  Value tree{Value::Map{}};
  std::string faults;
  const describe::Shape shape = describe::outline<requests::SetExperiment>();
  for (const std::string& word : options.words) {
    if (word.find('=') != std::string::npos) {
      put_assignment(tree, shape, word, faults);
      continue;
    }
    try {
      setting.experiments.push_back(read_experiment_id("experiment", word));
    } catch (const CLI::ValidationError& error) {
      faults += std::string(error.what()) + "\n";
    }
  }
  put_given(tree, set_options, options.given, faults);
  if (setting.experiments.empty() && faults.empty()) faults += "experiment: name the experiments to change\n";
  if (tree.as<Value::Map>()->empty() && faults.empty()) {
    faults += "nothing to change; use an option, or key=value such as max_trials=200\n";
  }
  if (!faults.empty()) return tl::unexpected(std::move(faults));
  tree.set("experiment", Value(setting.experiments.front().value));
  auto request = describe::read<requests::SetExperiment>(tree);
  if (!request) {
    std::vector<DescribedOption> given;
    std::copy_if(set_options.begin(), set_options.end(), std::back_inserter(given),
                 [&](const DescribedOption& one) { return is_given(one, options.given); });
    for (const describe::Fault& fault : request.error()) {
      faults += place_of(given, fault.path) + ": " + fault.message + "\n";
    }
    return tl::unexpected(std::move(faults));
  }
  setting.request = *std::move(request);
  return setting;
}

loop::Task<int> set_all(CommandContext& session, std::shared_ptr<const Setting> setting, bool json) {
  int code = done;
  std::vector<ExperimentView> changed;
  for (const ExperimentId id : setting->experiments) {
    requests::SetExperiment request = setting->request;
    request.experiment = id;
    const Result<ExperimentView> one = co_await ask(session, request);
    if (!one) {
      const int bad = session.complain(one.error());
      code = code == done ? bad : code;
      continue;
    }
    changed.push_back(*one);
  }
  if (json && setting->experiments.size() > 1) print_json(changed);
  if (json && setting->experiments.size() == 1 && !changed.empty()) print_json(changed.front());
  if (!json && !changed.empty()) print(experiments_text(changed, showing(session)));
  co_return code;
}

}  // namespace

void add_experiment_set(CLI::App& noun, Chosen& chosen) {
  const auto options = std::make_shared<SetOptions>();
  CLI::App& command = add_verb(noun,
                               {"set", "Change experiments, also while they run",
                                "  cadre experiment set 12 max_trials=200\n"
                                "  cadre experiment set 12 13 --priority 10 --max-slots 16\n"
                                "  cadre experiment set 12 --label baseline --notes 'best so far'\n"
                                "  cadre experiment set 12 --label ''\n"
                                "max_trials extends a search, also one that has ended. A change of what is kept of\n"
                                "checkpoints applies to those that exist already.\n"},
                               options->client);
  command.add_option("experiment", options->words, "Experiment IDs, and settings such as max_trials=200")
      ->required()
      ->type_name("ID|KEY=VALUE");
  add_options(command, set_options, describe::outline<requests::SetExperiment>(), options->given);
  command.callback([&command, &chosen, options] {
    chosen = [&command, options] {
      auto setting = read_setting(*options);
      if (!setting) {
        print_error(setting.error() + full_name(command) +
                    ": nothing was changed; for help, run: " + full_name(command) + " --help\n");
        return static_cast<int>(bad_usage);
      }
      auto shared = std::make_shared<const Setting>(*std::move(setting));
      const ClientOptions client = settled(command, options->client);
      return with_master(full_name(command), client,
                         [shared, client](CommandContext& session) { return set_all(session, shared, client.json); });
    };
  });
}

}  // namespace cadre::cli
