#include <unistd.h>

#include "cli/commands/submission.h"
#include "cli/follow.h"
#include "cli/job_options.h"
#include "cli/terminal.h"

namespace cadre::cli {
namespace {

struct RunOptions {
  ClientOptions client;
  JobOptions job;
  bool detach = false;  ///< cadre run
  bool follow = false;  ///< cadre task run
  bool input = false;
  bool terminal = false;
};

/// Why its input and terminal cannot be passed on; empty: they can.
std::string obstacle_to_input(const RunOptions& options, const cluster::JobSpec& spec) {
  const std::string flag = options.terminal ? "-t" : "-i";
  if (options.detach) return flag + ": cannot be combined with --detach; omit one of them\n";
  const bool is_one = spec.members.size() == 1 && spec.members.front().count.value_or(1) == 1;
  if (!is_one) return flag + ": requires a job with a single task\n";
  if (!options.job.file.empty()) return flag + ": requires a command after --; it cannot be combined with --file\n";
  if (options.terminal && isatty(0) != 1) return "-t: standard input is not a terminal; omit -t, or use -i\n";
  return "";
}

/// Checks the options before it connects to a master.
int run(const CLI::App& command, const RunOptions& options) {
  auto spec = make_job(options.job);
  if (!spec) return refuse(command, spec.error());
  if (options.input || options.terminal) {
    if (const std::string obstacle = obstacle_to_input(options, *spec); !obstacle.empty()) {
      return refuse(command, obstacle);
    }
    cluster::Command& what = spec->members.front().command;
    what.input = true;
    if (options.terminal) what.terminal = terminal_here();
  }
  Submission submission{options.client, *std::move(spec), options.job.code, options.follow, name_among};
  submission.input = options.input || options.terminal;
  submission.terminal = options.terminal;
  return submit(command, std::move(submission));
}

void choose(CLI::App& command, Chosen& chosen, const std::shared_ptr<RunOptions>& options) {
  command.callback([&command, &chosen, options] {
    chosen = [&command, options] {
      if (command.get_name() == "run" && options->detach) options->follow = false;
      return run(command, *options);
    };
  });
}

}  // namespace

void add_run_command(CLI::App& app, Chosen& chosen) {
  const auto options = std::make_shared<RunOptions>();
  CLI::App& command = add_verb(app,
                               {"run", "Run a command on the cluster, print its output and exit with its exit code",
                                "  cadre run -- hostname\n"
                                "  cadre run --slots 1 --memory 8GiB --dir . -- python3 train.py --epochs 3\n"
                                "  cadre run --count 4 --env MODE=test -- ./worker\n"
                                "  cadre run --detach --file job.yaml\n"
                                "  cadre run -t -- python3\n"
                                "  sort words.txt | cadre run -i -- uniq -c\n"
                                "Ctrl-C stops the job; a second Ctrl-C kills it.\n"
                                "Exits with the exit code of the task, with 128 plus the signal number if a signal "
                                "ended it,\n"
                                "and with 125 if the job ended otherwise or cadre itself fails.\n"},
                               options->client);
  options->follow = true;
  command.add_flag("--detach", options->detach, "Print the job ID and do not wait");
  command.add_flag("-i,--input", options->input, "Pass standard input to the task; default: empty input");
  command.add_flag("-t,--terminal", options->terminal,
                   "Run the task on a terminal with the size of this one; implies -i");
  add_job_options(command, options->job);
  choose(command, chosen, options);
}

void add_task_run_command(CLI::App& task, Chosen& chosen) {
  const auto options = std::make_shared<RunOptions>();
  CLI::App& command = add_verb(task,
                               {"run", "Submit a job and print its ID",
                                "  cadre task run --slots 2 -- python3 train.py\n"
                                "  cadre task run --follow -- hostname\n"},
                               options->client);
  command.add_flag("--follow", options->follow, "Print its output and exit with its exit code, like cadre run");
  add_job_options(command, options->job);
  choose(command, chosen, options);
}

}  // namespace cadre::cli
