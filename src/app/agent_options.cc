#include "app/agent_options.h"

#include <array>
#include <vector>

#include "cli/files.h"

namespace cadre::app {
namespace {

using cli::DescribedOption;
using Form = DescribedOption::Form;

constexpr std::array agent_options = {
    DescribedOption{"--id", "id", Form::text, "ID"},
    DescribedOption{"--pool", "pool", Form::text, "POOL"},
    DescribedOption{"--slots", "slots", Form::number, "SLOTS"},
    DescribedOption{"--artificial-slots", "slots", Form::number, "NUMBER", "Same as --slots with a number."},
    DescribedOption{"--cpus", "cpus", Form::number, "NUMBER"},
    DescribedOption{"--memory", "memory", Form::text, "SIZE"},
    DescribedOption{"--warm", "warm", Form::number, "NUMBER"},
    DescribedOption{"--warm-memory", "warm_memory", Form::text, "SIZE"},
    DescribedOption{"--setup-timeout", "setup_timeout", Form::text, "DURATION"},
    DescribedOption{"--owner", "owner", Form::text, "USER"},
    DescribedOption{"--uids", "uids", Form::text, "FIRST-LAST"},
    DescribedOption{"--allow-mount", "allow_mounts", Form::list, "PREFIX[:rw]",
                    "Folder that tasks of all users may mount, read-only without :rw."},
    DescribedOption{"--python", "pythons", Form::list, "PATH",
                    "Interpreter or virtual environment that tasks may use, in any folder."},
    DescribedOption{"--allow-isolation-off", "allow_isolation_off", Form::flag, ""},
    DescribedOption{"--label", "labels", Form::pairs, "NAME=VALUE", "Label, which jobs can select."},
};

constexpr std::array own_agent_options = {
    DescribedOption{"--master", "master", Form::text, "URL|HOST:PORT|FOLDER"},
    DescribedOption{"--join", "join", Form::text, "TOKEN"},
    DescribedOption{"--data", "data", Form::text, "FOLDER"},
    DescribedOption{"--adopt", "adopt", Form::flag, "",
                    "Accept a data folder of another cluster; the tasks of that cluster are set aside."},
};

}  // namespace

void add_agent_options(CLI::App& command, GivenAgentOptions& options) {
  cli::add_options(command, agent_options, describe::outline<agent::Config>(), options.given);
  command.get_option("--slots")->excludes(command.get_option("--artificial-slots"));
  command.add_option("--namespaces", options.namespaces, "For tests: none, as if the kernel offered none")
      ->check(CLI::IsMember({"none"}))
      ->group("");
}

void add_own_agent_options(CLI::App& command, GivenAgentOptions& options) {
  command
      .add_option("--config", options.config,
                  "Configuration file in YAML (docs/reference/agent-file.md); options take precedence")
      ->type_name("FILE");
  cli::add_options(command, own_agent_options, describe::outline<agent::Config>(), options.given);
}

Result<AgentOptions> read_agent_options(const GivenAgentOptions& options) {
  describe::Value tree{describe::Value::Map{}};
  if (!options.config.empty()) {
    TRY_ASSIGN(text, cli::read_file(options.config));
    auto parsed = describe::parse_yaml(text);
    if (!parsed) return Failure(describe::to_error(parsed.error(), options.config));
    tree = *std::move(parsed);
  }
  std::vector<DescribedOption> all(agent_options.begin(), agent_options.end());
  all.insert(all.end(), own_agent_options.begin(), own_agent_options.end());
  AgentOptions read;
  TRY_ASSIGN(config, cli::read_with_options<agent::Config>(std::move(tree), options.config, all, options.given));
  read.config = std::move(config);
  read.has_no_namespaces = options.namespaces == "none";
  return read;
}

}  // namespace cadre::app
