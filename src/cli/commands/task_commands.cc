#include "cli/commands/verb.h"
#include "cli/words.h"
#include "describe/utf8.h"

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

loop::Task<int> list(Session& session, std::shared_ptr<const ListOptions> options) {
  const Got<requests::Jobs> jobs = co_await list_jobs(session, *options);
  if (!jobs) co_return session.complain(jobs.error());
  if (options->client.json) {
    Tasks all;
    for (const JobView& job : jobs->jobs) all.tasks.insert(all.tasks.end(), job.tasks.begin(), job.tasks.end());
    print_json(all);
  } else {
    print(tasks_text(jobs->jobs, showing(session)));
  }
  co_return done;
}

struct TargetOptions {
  ClientOptions client;
  Target target;
  std::optional<Duration> grace;
  bool kills = false;
};

loop::Task<int> show(Session& session, std::shared_ptr<const TargetOptions> options) {
  const Got<TaskView> task = co_await ask(session, requests::GetTask{options->target.task});
  if (!task) co_return session.complain(task.error());
  if (options->client.json) {
    print_json(*task);
  } else {
    print(task_text(*task, showing(session)));
  }
  co_return done;
}

loop::Task<int> end(Session& session, std::shared_ptr<const TargetOptions> options) {
  const Target& target = options->target;
  const std::optional<Duration> grace = options->kills ? Duration(0) : options->grace;
  Got<JobView> job;
  if (target.names_task) {
    job = co_await ask(session, requests::EndTask{target.task, grace});
  } else {
    job = co_await ask(session, requests::EndJob{target.job(), grace});
  }
  if (!job) co_return session.complain(job.error());
  const std::string id = std::to_string(target.job().value);
  if (options->client.json) {
    print_json(*job);
  } else if (job->stage == cluster::control::JobStage::ended) {
    print("job " + id + " has ended: " + describe::escaped_lines(ending_words(*job)) + "\n");
  } else {
    print("job " + id + (options->kills ? " is being killed\n" : " is stopping\n"));
  }
  co_return done;
}

void add_end(CLI::App& task, Chosen& chosen, const Verb& verb, bool kills) {
  const auto options = std::make_shared<TargetOptions>();
  options->kills = kills;
  CLI::App& command = add_verb(task, verb, options->client);
  add_target(command, "task", options->target, "The task, or its job");
  if (!kills) {
    add_duration(command, "--grace", options->grace, Duration(0),
                 "Time to end by itself before it is killed; else as the job says");
  }
  on_choice(command, chosen, options, end);
}

}  // namespace

void add_task_commands(CLI::App& app, Chosen& chosen) {
  CLI::App& task = add_verb(app, {"task", "Run, watch and stop tasks", "  cadre task list\n  cadre task logs -f 17\n"});
  task.require_subcommand(1);
  add_task_run_command(task, chosen);

  const auto listing = std::make_shared<ListOptions>();
  CLI::App& list_command =
      add_list(task, {"list", "List tasks, the newest jobs first", "  cadre task list --active\n"}, *listing);
  on_choice(list_command, chosen, listing, list);

  const auto showing_one = std::make_shared<TargetOptions>();
  CLI::App& show_command =
      add_verb(task, {"describe", "Say all about one task", "  cadre task describe 17.0\n"}, showing_one->client);
  add_target(show_command, "task", showing_one->target, "The task; of a job, its first");
  on_choice(show_command, chosen, showing_one, show);

  add_end(task, chosen, {"stop", "Ask a task to end, and kill it after its grace", "  cadre task stop 17\n"}, false);
  add_end(task, chosen, {"kill", "Kill a task at once", "  cadre task kill 17\n"}, true);
  add_exec_command(task, chosen);
  add_logs_command(task, chosen);
}

}  // namespace cadre::cli
