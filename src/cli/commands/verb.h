/// What all commands that speak to a master have in common. For the main thread.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "access/requests.h"
#include "cli/command_context.h"
#include "cli/commands/commands.h"
#include "cli/views.h"

namespace cadre::cli {

struct Verb {
  std::string name;
  std::string help;
  std::string examples;  ///< lines for the end of --help
};

/// A command, with the master's options if it takes any.
CLI::App& add_verb(CLI::App& parent, const Verb& verb);
CLI::App& add_verb(CLI::App& parent, const Verb& verb, ClientOptions& options);

/// `cadre job list`
std::string full_name(const CLI::App& command);

/// The options of a command; what it leaves open is taken from the program's own (`cadre --master FOLDER status`).
ClientOptions settled(const CLI::App& command, ClientOptions options);
/// Adds those.
void add_program_options(CLI::App& app);

/// Adds --watch.
void add_watch(CLI::App& command, ClientOptions& options);
/// Shows it anew every 2 s until it is interrupted, or fails while the master is there.
[[nodiscard]] loop::Task<int> watch(CommandContext& session, std::function<loop::Task<int>()> once);

/// When the command is chosen, runs a body that is made from its options against the master; with --watch, again and
/// again.
template <class Options>
void on_choice(CLI::App& command, Chosen& chosen, std::shared_ptr<Options> options,
               loop::Task<int> (*body)(CommandContext&, std::shared_ptr<const Options>)) {
  command.callback([&command, &chosen, options, body] {
    chosen = [&command, options, body] {
      const ClientOptions client = settled(command, options->client);
      return with_master(full_name(command), client, [options, body, client](CommandContext& session) {
        const auto once = [&session, options, body] { return body(session, options); };
        return client.watch ? watch(session, once) : once();
      });
    };
  });
}

/// Of what lists jobs or their tasks.
struct ListOptions {
  ClientOptions client;
  cluster::requests::ListJobs request;
  std::int32_t most = 100;
  bool active = false;
  std::string kind = "job";  ///< or actor, or all

  /// Whether some of all jobs may be left out, actors aside.
  bool is_filtered() const {
    return active || request.workspace || request.owner || request.name || request.state || kind == "actor";
  }
};
/// What is said when no job is as the options want it.
std::string nothing_listed(const ListOptions& options);
/// How many actors were left out, and how to see them; empty: none.
std::string skipped_words(const cluster::requests::Jobs& jobs);
CLI::App& add_list(CLI::App& noun, const Verb& verb, ListOptions& options);
/// As many as asked for, page by page.
[[nodiscard]] loop::Task<Result<cluster::requests::Jobs>> list_jobs(CommandContext& session,
                                                                    const ListOptions& options);

/// `17` or `17.0`.
struct Target {
  cluster::TaskId task;
  bool names_task = false;  ///< and not its whole job

  cluster::JobId job() const { return task.job; }
};
CLI::Option& add_target(CLI::App& command, const std::string& name, Target& target, const std::string& help);

/// One or more of them, in the order in which they are given.
CLI::Option& add_targets(CLI::App& command, const std::string& name, std::vector<Target>& targets,
                         const std::string& help);

/// An option that takes a duration of at least `least`.
CLI::Option& add_duration(CLI::App& command, const std::string& name, std::optional<Duration>& value, Duration least,
                          const std::string& help);

/// An option --role: viewer, editor or admin.
CLI::Option& add_role(CLI::App& command, std::optional<access::Role>& role, const std::string& help);

/// How things are shown on standard output now.
Showing showing(const CommandContext& session);

/// The job as text, or as JSON; the exit code of a command that has done what it was asked.
int show_job(const CommandContext& session, const cluster::requests::JobView& job, const ClientOptions& client);

}  // namespace cadre::cli
