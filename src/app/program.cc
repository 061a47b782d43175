#include "app/program.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "app/bench_command.h"
#include "app/cluster_commands.h"
#include "app/docs_command.h"
#include "app/simulate_command.h"
#include "base/protocol.h"
#include "cli/commands/commands.h"
#include "cli/exit_code.h"
#include "cli/plan_command.h"
#include "cli/usage.h"

namespace cadre::app {

int run_program(int argc, char** argv) {
  CLI::App app("cadre: a cluster system for machine learning");
  app.name("cadre");
  app.set_version_flag("--version", std::string(version()));
  app.require_subcommand(1);

  std::function<int()> chosen;
  cli::PlanOptions plan;
  CLI::App* plan_command =
      app.add_subcommand("plan", "Show what the scheduler would do with a cluster described in a file");
  plan_command->add_option("file", plan.file, "Plan file (docs/reference/plan-file.md); - reads standard input")
      ->required();
  plan_command->add_flag("--json", plan.json, "Print one JSON object");
  plan_command->callback([&] { chosen = [&] { return cli::run_plan(plan); }; });

  cli::add_agent_verbs(add_cluster_commands(app, chosen), chosen);
  cli::add_client_commands(app, chosen);
  add_simulate_command(app, chosen);
  add_bench_command(app, chosen);
  add_docs_command(app, chosen);

  std::vector<std::string> words(argv + 1, argv + argc);
  if (words.empty() || words.front() == "help") {  // `cadre help run` is `cadre run --help`
    if (!words.empty()) words.erase(words.begin());
    words.emplace_back("--help");
  }
  if (words.front()[0] != '-' &&
      app.get_subcommands([&](const CLI::App* one) { return one->check_name(words.front()); }).empty()) {
    std::fputs(cli::unknown_command(app, words.front()).c_str(), stderr);
    return cli::bad_usage;
  }
  try {
    std::reverse(words.begin(), words.end());  // as it wants them
    app.parse(std::move(words));
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error);
    return code == 0 ? cli::done : cli::usage_code(app);
  }
  return cli::printed_code(app, chosen());
}

}  // namespace cadre::app
