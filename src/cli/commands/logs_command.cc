#include "cli/commands/job_output.h"

namespace cadre::cli {
namespace {

struct LogsOptions {
  ClientOptions client;
  std::vector<Target> targets;
  OutputOptions output;
};

loop::Task<int> logs(CommandContext& session, std::shared_ptr<const LogsOptions> options) {
  LineSink sink(LineSink::form_of(options->client, options->output));
  const bool has_several = options->targets.size() > 1;
  const OnJobLine on_line = [&](cluster::TaskId task, const logs::Line& line, std::size_t tasks) {
    sink.take(task, line, has_several ? "[" + to_string(task) + "] " : prefix_of(task, tasks));
  };
  int code = done;
  loop::Tasks tasks(session.loop);
  for (const Target& target : options->targets) {
    tasks.spawn(note_code(show_output(session, target, options->output, on_line), code));
    if (!options->output.follow) co_await tasks.ended();  // one after the other; those that are followed all at once
  }
  co_await tasks.ended();
  sink.finish();
  co_return code;
}

/// What all that show output take, but for whose it is.
CLI::App& add_logs(CLI::App& noun, Chosen& chosen, const Verb& verb, const std::shared_ptr<LogsOptions>& options) {
  CLI::App& command = add_verb(noun, verb, options->client);
  add_output_options(command, options->output);
  command
      .add_option("--epoch", options->output.epoch,
                  "Epoch of the run to show, which grows with each run of a task; default: the latest run")
      ->type_name("N")
      ->check(CLI::PositiveNumber);
  on_choice(command, chosen, options, logs);
  return command;
}

}  // namespace

void add_logs_command(CLI::App& noun, Chosen& chosen) {
  const auto options = std::make_shared<LogsOptions>();
  const std::string name = "  " + full_name(noun);
  CLI::App& command = add_logs(
      noun, chosen,
      {"logs", "Show the output of jobs or tasks",
       name + " logs 17.0\n" + name + " logs -f --tail 20 17\n" + name + " logs -f 17 18\n" + name +
           " logs --level warning --since 10m --grep loss 17\n" +
           "With several tasks, each line begins with the task number; with several jobs, with the task ID.\n"},
      options);
  add_targets(command, "job", options->targets, "Job or task IDs");
  command.add_option("--rank", options->output.rank, "Only the task with this rank")
      ->type_name("NUMBER")
      ->check(CLI::NonNegativeNumber);
}

void add_actor_logs_command(CLI::App& actor, Chosen& chosen) {
  const auto options = std::make_shared<LogsOptions>();
  CLI::App& command = add_logs(
      actor, chosen,
      {"logs", "Show the output of actors", "  cadre actor logs 17\n  cadre actor logs -f --tail 20 17\n"}, options);
  add_targets(command, "actor", options->targets, "Numbers of the actors");
}

}  // namespace cadre::cli
