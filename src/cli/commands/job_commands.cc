#include "cli/commands/verb.h"

namespace cadre::cli {
namespace {

using cluster::requests::JobView;
namespace requests = cluster::requests;

loop::Task<int> list_jobs(CommandContext& session, std::shared_ptr<const ListOptions> options) {
  const Result<requests::Jobs> jobs = co_await list_jobs(session, *options);
  if (!jobs) co_return session.complain(jobs.error());
  if (options->client.json) {
    print_json(*jobs);
  } else {
    print(jobs->jobs.empty() && options->is_filtered() ? nothing_listed(*options)
                                                       : jobs_text(jobs->jobs, showing(session)));
    print(skipped_words(*jobs));
  }
  co_return done;
}

struct OneOptions {
  ClientOptions client;
  Target target;
};

loop::Task<int> show_job(CommandContext& session, std::shared_ptr<const OneOptions> options) {
  const Result<JobView> job = co_await ask(session, requests::GetJob{options->target.job(), std::nullopt});
  if (!job) co_return session.complain(job.error());
  co_return show_job(session, *job, options->client);
}

struct MoveOptions {
  ClientOptions client;
  Target target;
  Target ahead_of;
  Target behind;
  bool is_behind = false;
};

loop::Task<int> move(CommandContext& session, std::shared_ptr<const MoveOptions> options) {
  const cluster::JobId other = options->is_behind ? options->behind.job() : options->ahead_of.job();
  const Result<JobView> job =
      co_await ask(session, requests::MoveJob{options->target.job(), other, options->is_behind});
  if (!job) co_return session.complain(job.error());
  if (options->client.json) {
    print_json(*job);
  } else {
    print("job " + std::to_string(job->id.value) + " is now " + (options->is_behind ? "behind" : "ahead of") + " job " +
          std::to_string(other.value) + "\n");
  }
  co_return done;
}

struct SetJobOptions {
  ClientOptions client;
  Target target;
  requests::SetJob request;
};

loop::Task<int> set_job(CommandContext& session, std::shared_ptr<const SetJobOptions> options) {
  requests::SetJob request = options->request;
  request.job = options->target.job();
  const Result<JobView> job = co_await ask(session, request);
  if (!job) co_return session.complain(job.error());
  co_return show_job(session, *job, options->client);
}

void add_move(CLI::App& job, Chosen& chosen) {
  const auto options = std::make_shared<MoveOptions>();
  CLI::App& command = add_verb(job,
                               {"move", "Move a job in the queue, among jobs of the same pool and priority",
                                "  cadre job move 17 --ahead-of 12\n  cadre job move 17 --behind 20\n"},
                               options->client);
  add_target(command, "job", options->target, "Job ID");
  CLI::Option_group& where = *command.add_option_group("where");
  add_target(where, "--ahead-of", options->ahead_of, "Place the job ahead of this one").required(false);
  add_target(where, "--behind", options->behind, "Place the job behind this one").required(false);
  where.require_option(1);
  command.parse_complete_callback(
      [options, &where] { options->is_behind = where.get_option("--behind")->count() > 0; });
  on_choice(command, chosen, options, move);
}

void add_set(CLI::App& job, Chosen& chosen) {
  const auto options = std::make_shared<SetJobOptions>();
  CLI::App& command = add_verb(job,
                               {"set", "Change a waiting or running job",
                                "  cadre job set 17 --priority 10\n  cadre job set 17 --weight 2 --max-slots 16\n"},
                               options->client);
  add_target(command, "job", options->target, "Job ID");
  CLI::Option_group& what = *command.add_option_group("what");
  what.add_option("--priority", options->request.priority, "Priority from 1 to 99; a smaller number is more important")
      ->check(CLI::Range(1, 99));
  what.add_option("--weight", options->request.weight, "Weight of its group under fair_share")
      ->check(CLI::Range(0.001, 1'000'000.0));
  what.add_option("--max-slots", options->request.max_slots, "Maximum number of slots that its group may hold")
      ->check(CLI::NonNegativeNumber);
  what.add_option("--pool", options->request.pool, "Pool to move the job to; only while it waits");
  what.require_option(1, 0);
  on_choice(command, chosen, options, set_job);
}

}  // namespace

void add_job_commands(CLI::App& app, Chosen& chosen) {
  CLI::App& job = add_verb(app, {"job", "Manage jobs and the queue", "  cadre job list\n  cadre why 17\n"});
  job.require_subcommand(1);

  const auto listing = std::make_shared<ListOptions>();
  CLI::App& list_command = add_list(job, {"list", "List jobs, newest first", "  cadre job list --active\n"}, *listing);
  on_choice(list_command, chosen, listing, list_jobs);

  const auto one = std::make_shared<OneOptions>();
  CLI::App& show_command =
      add_verb(job, {"describe", "Show the details of a job", "  cadre job describe 17\n"}, one->client);
  add_target(show_command, "job", one->target, "Job ID");
  on_choice(show_command, chosen, one, show_job);

  add_end_commands(job, chosen);
  add_wait_command(job, chosen);
  add_logs_command(job, chosen);
  add_move(job, chosen);
  add_set(job, chosen);
}

}  // namespace cadre::cli
