#include "cli/commands/commands.h"

#include "cli/commands/experiment_commands.h"
#include "cli/commands/verb.h"
#include "cli/usage.h"

namespace cadre::cli {

void add_client_commands(CLI::App& app, Chosen& chosen) {
  add_program_options(app);
  add_run_command(app, chosen);
  add_logs_command(app, chosen);
  add_wait_command(app, chosen);
  add_end_commands(app, chosen);
  add_exec_command(app, chosen);
  add_task_commands(app, chosen);
  add_job_commands(app, chosen);
  add_group_commands(app, chosen);
  add_launch_command(app, chosen);
  add_experiment_commands(app, chosen);
  add_trial_commands(app, chosen);
  add_checkpoint_commands(app, chosen);
  add_actor_commands(app, chosen);
  add_session_commands(app, chosen);
  add_pool_commands(app, chosen);
  add_status_command(app, chosen);
  add_why_command(app, chosen);
  add_login_commands(app, chosen);
  add_user_commands(app, chosen);
  add_token_commands(app, chosen);
  add_workspace_commands(app, chosen);
  add_api_command(app, chosen);
  add_completion_command(app, chosen);
  app.failure_message(usage_message);
}

}  // namespace cadre::cli
