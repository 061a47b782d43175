#include "cli/commands/verb.h"

namespace cadre::cli {
namespace {

using cluster::requests::JobView;
using cluster::requests::TaskView;
namespace requests = cluster::requests;

struct Tasks {
  std::vector<TaskView> tasks;
};
template <class V>
void describe(V& v, Tasks& t) {
  v.required("tasks", t.tasks, "The tasks.");
}

loop::Task<int> list_tasks(CommandContext& session, std::shared_ptr<const ListOptions> options) {
  const Result<requests::Jobs> jobs = co_await list_jobs(session, *options);
  if (!jobs) co_return session.complain(jobs.error());
  if (options->client.json) {
    Tasks all;
    for (const JobView& job : jobs->jobs) all.tasks.insert(all.tasks.end(), job.tasks.begin(), job.tasks.end());
    print_json(all);
  } else {
    print(jobs->jobs.empty() && options->is_filtered() ? nothing_listed(*options)
                                                       : tasks_text(jobs->jobs, showing(session)));
    print(skipped_words(*jobs));
  }
  co_return done;
}

struct TargetOptions {
  ClientOptions client;
  Target target;
};

loop::Task<int> show_task(CommandContext& session, std::shared_ptr<const TargetOptions> options) {
  const Result<TaskView> task = co_await ask(session, requests::GetTask{options->target.task});
  if (!task) co_return session.complain(task.error());
  if (options->client.json) {
    print_json(*task);
  } else {
    print(task_text(*task, showing(session)));
  }
  co_return done;
}

}  // namespace

void add_task_commands(CLI::App& app, Chosen& chosen) {
  CLI::App& task = add_verb(app, {"task", "Run, watch and stop tasks", "  cadre task list\n  cadre task logs -f 17\n"});
  task.require_subcommand(1);
  add_task_run_command(task, chosen);

  const auto listing = std::make_shared<ListOptions>();
  CLI::App& list_command =
      add_list(task, {"list", "List tasks, newest jobs first", "  cadre task list --active\n"}, *listing);
  on_choice(list_command, chosen, listing, list_tasks);

  const auto showing_one = std::make_shared<TargetOptions>();
  CLI::App& show_command =
      add_verb(task, {"describe", "Show the details of a task", "  cadre task describe 17.0\n"}, showing_one->client);
  add_target(show_command, "task", showing_one->target, "Task ID; a job ID selects its first task");
  on_choice(show_command, chosen, showing_one, show_task);

  add_end_commands(task, chosen);
  add_wait_command(task, chosen);
  add_exec_command(task, chosen);
  add_logs_command(task, chosen);
}

}  // namespace cadre::cli
