#include "cli/commands/verb.h"

#include <unistd.h>

#include <csignal>

#include "cli/table.h"
#include "cli/terminal.h"
#include "loop/signals.h"

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
      .add_option("--master", options.master,
                  "URL of the master, or its data folder on this host; default: CADRE_MASTER, then the master of your "
                  "login, then ~/.local/share/cadre")
      ->type_name("MASTER");
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
  app.add_option("--master", "Master for all commands, like the --master option of each command")->type_name("MASTER");
}

namespace {

Target read_target(const std::string& name, const std::string& text) {
  const Result<cluster::TaskId> id = cluster::parse_task_id(text);
  if (!id) {
    throw CLI::ValidationError(name,
                               "'" + text + "' is neither a job ID nor a task ID; use a number such as 17 or 17.0");
  }
  return {*id, text.find('.') != std::string::npos};
}

}  // namespace

CLI::Option& add_target(CLI::App& command, const std::string& name, Target& target, const std::string& help) {
  return *command
              .add_option_function<std::string>(
                  name, [&target, name](const std::string& text) { target = read_target(name, text); }, help)
              ->required()
              ->type_name("ID");
}

CLI::Option& add_targets(CLI::App& command, const std::string& name, std::vector<Target>& targets,
                         const std::string& help) {
  return *command
              .add_option_function<std::vector<std::string>>(
                  name,
                  [&targets, name](const std::vector<std::string>& words) {
                    targets.clear();
                    for (const std::string& word : words) targets.push_back(read_target(name, word));
                  },
                  help)
              ->required()
              ->type_name("ID");
}

void add_watch(CLI::App& command, ClientOptions& options) {
  command.add_flag("--watch", options.watch, "Refresh every 2 s until Ctrl-C");
}

loop::Task<int> watch(CommandContext& session, std::function<loop::Task<int>()> once) {
  constexpr Duration refresh_every = std::chrono::seconds(2);
  const auto signals = loop::on_signal(session.loop, {SIGINT, SIGTERM}, [&session](int) { session.leave(done); });
  if (!signals) co_return session.complain(failed, signals.error().message);
  const bool clears = isatty(1) == 1;
  for (;;) {
    if (clears) print("\x1b[H\x1b[J");
    const int code = co_await once();
    flush_output();
    if (code != done && code != unreachable) co_return code;
    co_await loop::sleep(session.loop, refresh_every);
  }
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

Showing showing(const CommandContext& session) {
  Showing showing{session.calendar.now(), takes_colours(1)};
  if (const auto terminal = isatty(1) == 1 ? terminal_here() : std::nullopt; terminal && terminal->columns > 0) {
    showing.columns = static_cast<std::size_t>(terminal->columns);
  }
  return showing;
}

int show_job(const CommandContext& session, const cluster::requests::JobView& job, const ClientOptions& client) {
  if (client.json) {
    print_json(job);
  } else {
    print(job_text(job, showing(session)));
  }
  return done;
}

std::string nothing_listed(const ListOptions& options) {
  const bool only_active = options.active && !options.request.workspace && !options.request.owner &&
                           !options.request.name && !options.request.state && options.kind != "actor";
  return only_active ? "no waiting or running jobs; to list all jobs: cadre job list\n"
                     : "no matching jobs; to list all jobs: cadre job list\n";
}

std::string skipped_words(const cluster::requests::Jobs& jobs) {
  if (jobs.actors_skipped == 0) return "";
  const bool is_one = jobs.actors_skipped == 1;
  return std::to_string(jobs.actors_skipped) + (is_one ? " actor is" : " actors are") +
         " not shown; show them with --kind all, or cadre actor list\n";
}

CLI::App& add_list(CLI::App& noun, const Verb& verb, ListOptions& options) {
  std::string states;
  for (const auto& [state, name] : enum_names(cluster::requests::JobState{})) {
    states += (states.empty() ? "" : ", ") + std::string(name);
  }
  CLI::App& command = add_verb(noun, verb, options.client);
  command.add_flag("--active", options.active, "Omit jobs that have ended");
  command.add_option("--workspace", options.request.workspace, "Only jobs of this workspace")->type_name("NAME");
  command.add_option("--owner", options.request.owner, "Only jobs of this user")->type_name("NAME");
  command.add_option("--name", options.request.name, "Only jobs whose name contains this text")->type_name("TEXT");
  command
      .add_option_function<std::string>(
          "--state",
          [&options](const std::string& text) {
            const auto state = describe::read<cluster::requests::JobState>(describe::Value(text));
            if (!state) throw CLI::ValidationError("--state", state.error().begin()->message);
            options.request.state = *state;
          },
          "Only jobs in this state: " + states + " (ended without success)")
      ->type_name("STATE");
  command.add_option("--kind", options.kind, "Kind of jobs to list: job, actor or all")
      ->check(CLI::IsMember({"job", "actor", "all"}))
      ->type_name("KIND")
      ->capture_default_str();
  add_watch(command, options.client);
  command.add_option("--most", options.most, "Maximum number of jobs to list")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  return command;
}

loop::Task<Result<cluster::requests::Jobs>> list_jobs(CommandContext& session, const ListOptions& options) {
  constexpr std::int32_t page_most = 1'000;
  cluster::requests::ListJobs request = options.request;
  request.ended = !options.active;
  if (options.kind != "all") {
    request.kind = options.kind == "actor" ? cluster::requests::JobKind::actor : cluster::requests::JobKind::job;
  }
  cluster::requests::Jobs all;
  for (std::int32_t left = options.most; left > 0;) {
    request.most = std::min(left, page_most);
    Result<cluster::requests::Jobs> page = co_await ask(session, request);
    if (!page) co_return page;
    left -= static_cast<std::int32_t>(page->jobs.size());
    std::move(page->jobs.begin(), page->jobs.end(), std::back_inserter(all.jobs));
    all.actors_skipped += page->actors_skipped;
    all.next = request.before = page->next;
    if (!page->next) break;
  }
  co_return all;
}

}  // namespace cadre::cli
