#include <memory>
#include <optional>

#include "cli/commands/verb.h"
#include "cli/launch/launcher.h"

namespace cadre::cli {
namespace {

constexpr std::int32_t workers_max = 1'024;

struct LaunchArguments {
  std::string program;
  bool per_slot = false;
  std::int32_t workers = 1;
  std::optional<Duration> join_wait;
};

int run_launch(const CLI::App& command, const LaunchArguments& arguments) {
  LaunchOptions options;
  options.name = full_name(command);
  options.command = command.remaining();  // all that follows the program
  if (!options.command.empty() && options.command.front() == "--") options.command.erase(options.command.begin());
  options.command.insert(options.command.begin(), arguments.program);
  options.workers = arguments.per_slot ? workers_per_slot() : static_cast<std::uint32_t>(arguments.workers);
  if (arguments.join_wait) options.join_wait = *arguments.join_wait;
  return launch(options);
}

}  // namespace

void add_launch_command(CLI::App& app, Chosen& chosen) {
  const auto arguments = std::make_shared<LaunchArguments>();
  CLI::App& command = add_verb(
      app, {"launch", "Run the processes of a distributed program, each with its rank",
            "  cadre launch --per-slot -- python3 train.py    as entrypoint of an experiment\n"
            "  cadre launch --workers 4 -- python3 train.py   without a cluster, on this host\n"
            "In a task of a cluster, all tasks of the job take part. Each process gets RANK, WORLD_SIZE,\n"
            "LOCAL_RANK, LOCAL_WORLD_SIZE, GROUP_RANK, GROUP_WORLD_SIZE, MASTER_ADDR and MASTER_PORT, as from\n"
            "torchrun. When one fails, all end, on all hosts.\n"
            "Exits with the exit code of the process that failed first, with 128 plus the signal number if a\n"
            "signal ended it, and with 125 if cadre itself fails.\n"});
  command.prefix_command();  // its positional takes the program, and nothing behind that is parsed
  CLI::Option* const per_slot = command.add_flag(
      "--per-slot", arguments->per_slot,
      "Run one process for each slot of the task, which sees only that slot; without a cluster one for "
      "each GPU in CUDA_VISIBLE_DEVICES");
  command.add_option("--workers", arguments->workers, "Number of processes on this host, or in each task; default: 1")
      ->type_name("NUMBER")
      ->check(CLI::Range(1, workers_max))
      ->excludes(per_slot);
  add_duration(command, "--join-timeout", arguments->join_wait, std::chrono::milliseconds(1),
               "Maximum time until all tasks of the job have started; default: 10m");
  command.add_option("command", arguments->program, "Command to run, after --")->required()->type_name("COMMAND...");
  command.callback(
      [&command, &chosen, arguments] { chosen = [&command, arguments] { return run_launch(command, *arguments); }; });
}

}  // namespace cadre::cli
