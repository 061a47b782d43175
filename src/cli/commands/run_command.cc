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
  if (options.detach) return flag + ": nobody would pass it on; leave out --detach\n";
  const bool is_one = spec.members.size() == 1 && spec.members.front().count.value_or(1) == 1;
  if (!is_one) return flag + ": is for a job of one task\n";
  if (!options.job.file.empty()) return flag + ": is for a command after --, not for a file\n";
  if (options.terminal && isatty(0) != 1) return "-t: standard input is no terminal; leave it out, or use -i\n";
  return "";
}

/// The words are read before anybody is spoken to.
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
                               {"run", "Run a command on the cluster, with its output here and its exit code",
                                "  cadre run -- hostname\n"
                                "  cadre run --slots 1 --memory 8GiB --dir . -- python3 train.py --epochs 3\n"
                                "  cadre run --count 4 --env MODE=test -- ./worker\n"
                                "  cadre run --detach --file job.yaml\n"
                                "  cadre run -t -- python3\n"
                                "  sort words.txt | cadre run -i -- uniq -c\n"
                                "Ctrl-C stops the job, a second one kills it.\n"
                                "Ends with the task's own exit code, 128 and the number of a signal that ended it, "
                                "and 125 for\n"
                                "other ends and failures of its own.\n"},
                               options->client);
  options->follow = true;
  command.add_flag("--detach", options->detach, "Do not wait: print the id of the job");
  command.add_flag("-i,--input", options->input, "Pass standard input on to the task; else its own is empty");
  command.add_flag("-t,--terminal", options->terminal,
                   "Run it on a terminal that has the size of this one; implies -i");
  add_job_options(command, options->job);
  choose(command, chosen, options);
}

void add_task_run_command(CLI::App& task, Chosen& chosen) {
  const auto options = std::make_shared<RunOptions>();
  CLI::App& command = add_verb(task,
                               {"run", "Submit a job and print its id",
                                "  cadre task run --slots 2 -- python3 train.py\n"
                                "  cadre task run --follow -- hostname\n"},
                               options->client);
  command.add_flag("--follow", options->follow, "Show its output here and end with its exit code, as cadre run does");
  add_job_options(command, options->job);
  choose(command, chosen, options);
}

}  // namespace cadre::cli
