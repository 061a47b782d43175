/// The commands that speak to a master, on the command line. For the main thread.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace cadre::cli {

/// What the command that was chosen does; gives the exit code.
using Chosen = std::function<int()>;

/// Adds all commands that speak to a master, completion, --master for all of them, and the words for bad usage. The
/// choice is put into `chosen`; both must live until it was made.
void add_client_commands(CLI::App& app, Chosen& chosen);

/// Adds list, enable, disable, drain and token to `cadre agent`, whose own callback must do nothing when one of them
/// was parsed.
void add_agent_verbs(CLI::App& agent, Chosen& chosen);

// Each of these adds one command.
void add_run_command(CLI::App& app, Chosen& chosen);
void add_task_run_command(CLI::App& task, Chosen& chosen);
void add_task_commands(CLI::App& app, Chosen& chosen);
/// stop and kill, of jobs or tasks.
void add_end_commands(CLI::App& noun, Chosen& chosen);
void add_wait_command(CLI::App& noun, Chosen& chosen);
void add_logs_command(CLI::App& noun, Chosen& chosen);
void add_actor_logs_command(CLI::App& actor, Chosen& chosen);
void add_launch_command(CLI::App& app, Chosen& chosen);
void add_exec_command(CLI::App& noun, Chosen& chosen);
void add_job_commands(CLI::App& app, Chosen& chosen);
void add_actor_commands(CLI::App& app, Chosen& chosen);
void add_group_commands(CLI::App& app, Chosen& chosen);
void add_session_commands(CLI::App& app, Chosen& chosen);
void add_status_command(CLI::App& app, Chosen& chosen);
void add_pool_commands(CLI::App& app, Chosen& chosen);
void add_user_commands(CLI::App& app, Chosen& chosen);
void add_token_commands(CLI::App& app, Chosen& chosen);
void add_workspace_commands(CLI::App& app, Chosen& chosen);
void add_login_commands(CLI::App& app, Chosen& chosen);
void add_why_command(CLI::App& app, Chosen& chosen);
void add_api_command(CLI::App& app, Chosen& chosen);
void add_completion_command(CLI::App& app, Chosen& chosen);

}  // namespace cadre::cli
