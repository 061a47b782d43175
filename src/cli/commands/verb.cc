#include "cli/commands/verb.h"

#include "cli/table.h"

namespace cadre::cli {

std::string full_name(const CLI::App& command) {
  const CLI::App* parent = command.get_parent();
  return parent == nullptr ? command.get_name() : full_name(*parent) + " " + command.get_name();
}

CLI::App& add_verb(CLI::App& parent, const Verb& verb) {
  CLI::App& command = *parent.add_subcommand(verb.name, verb.help);
  if (!verb.examples.empty()) command.footer("Examples:\n" + verb.examples);
  return command;
}

CLI::App& add_verb(CLI::App& parent, const Verb& verb, ClientOptions& options) {
  CLI::App& command = add_verb(parent, verb);
  command
      .add_option("--master", options.master, "Data folder of the master; else CADRE_MASTER, else ~/.local/share/cadre")
      ->type_name("FOLDER");
  command.add_flag("--json", options.json, "Print one JSON value");
  return command;
}

ClientOptions settled(const CLI::App& command, ClientOptions options) {
  const CLI::App* program = &command;
  while (program->get_parent() != nullptr) program = program->get_parent();
  const CLI::Option* master = program->get_option_no_throw("--master");
  if (options.master.empty() && master != nullptr && master->count() > 0) options.master = master->as<std::string>();
  return options;
}

void add_program_options(CLI::App& app) {
  app.add_option("--master", "Which master the commands speak to, as their own --master says")->type_name("FOLDER");
}

CLI::Option& add_target(CLI::App& command, const std::string& name, Target& target, const std::string& help) {
  return *command
              .add_option_function<std::string>(
                  name,
                  [&target, name](const std::string& text) {
                    const Result<cluster::TaskId> id = cluster::parse_task_id(text);
                    if (!id) {
                      throw CLI::ValidationError(
                          name, "'" + text + "' is neither a job nor a task; write a number like 17, or 17.0");
                    }
                    target = {*id, text.find('.') != std::string::npos};
                  },
                  help)
              ->required()
              ->type_name("ID");
}

CLI::Option& add_duration(CLI::App& command, const std::string& name, std::optional<Duration>& value, Duration least,
                          const std::string& help) {
  return *command
              .add_option_function<std::string>(
                  name,
                  [&value, name, least](const std::string& text) {
                    const Result<Duration> parsed = parse_duration(text);
                    if (!parsed) throw CLI::ValidationError(name, parsed.error().message);
                    if (*parsed < least) {
                      throw CLI::ValidationError(name, "must be at least " + to_string(least) + ", is " + text);
                    }
                    value = *parsed;
                  },
                  help)
              ->type_name("DURATION");
}

Showing showing(const Session& session) { return {session.calendar.now(), takes_colours(1)}; }

int show_job(const Session& session, const cluster::requests::JobView& job, const ClientOptions& client) {
  if (client.json) {
    print_json(job);
  } else {
    print(job_text(job, showing(session)));
  }
  return done;
}

CLI::App& add_list(CLI::App& noun, const Verb& verb, ListOptions& options) {
  CLI::App& command = add_verb(noun, verb, options.client);
  command.add_flag("--active", options.active, "Leave out jobs that have ended");
  command.add_option("--most", options.request.most, "So many jobs at most")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  return command;
}

loop::Task<Got<cluster::requests::Jobs>> list_jobs(Session& session, const ListOptions& options) {
  cluster::requests::ListJobs request = options.request;
  request.ended = !options.active;
  co_return co_await ask_for<cluster::requests::Jobs>(session, request);
}

}  // namespace cadre::cli
