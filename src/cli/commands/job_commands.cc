#include "cli/commands/verb.h"

namespace cadre::cli {
namespace {

using cluster::requests::JobView;
namespace requests = cluster::requests;

loop::Task<int> list(Session& session, std::shared_ptr<const ListOptions> options) {
  const Got<requests::Jobs> jobs = co_await list_jobs(session, *options);
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

loop::Task<int> show(Session& session, std::shared_ptr<const OneOptions> options) {
  const Got<JobView> job = co_await ask(session, requests::GetJob{options->target.job(), std::nullopt});
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

loop::Task<int> move(Session& session, std::shared_ptr<const MoveOptions> options) {
  const cluster::JobId other = options->is_behind ? options->behind.job() : options->ahead_of.job();
  const Got<JobView> job = co_await ask(session, requests::MoveJob{options->target.job(), other, options->is_behind});
  if (!job) co_return session.complain(job.error());
  if (options->client.json) {
    print_json(*job);
  } else {
    print("job " + std::to_string(job->id.value) + " is now " + (options->is_behind ? "behind" : "ahead of") + " job " +
          std::to_string(other.value) + "\n");
  }
  co_return done;
}

struct SetOptions {
  ClientOptions client;
  Target target;
  requests::SetJob request;
};

loop::Task<int> set(Session& session, std::shared_ptr<const SetOptions> options) {
  requests::SetJob request = options->request;
  request.job = options->target.job();
  const Got<JobView> job = co_await ask(session, request);
  if (!job) co_return session.complain(job.error());
  co_return show_job(session, *job, options->client);
}

void add_move(CLI::App& job, Chosen& chosen) {
  const auto options = std::make_shared<MoveOptions>();
  CLI::App& command = add_verb(job,
                               {"move", "Move a job in the queue, among those of its pool and priority",
                                "  cadre job move 17 --ahead-of 12\n  cadre job move 17 --behind 20\n"},
                               options->client);
  add_target(command, "job", options->target, "The job");
  CLI::Option_group& where = *command.add_option_group("where");
  add_target(where, "--ahead-of", options->ahead_of, "The job before which it is to come").required(false);
  add_target(where, "--behind", options->behind, "The job after which it is to come").required(false);
  where.require_option(1);
  command.parse_complete_callback(
      [options, &where] { options->is_behind = where.get_option("--behind")->count() > 0; });
  on_choice(command, chosen, options, move);
}

void add_set(CLI::App& job, Chosen& chosen) {
  const auto options = std::make_shared<SetOptions>();
  CLI::App& command = add_verb(job,
                               {"set", "Change a job while it waits or runs",
                                "  cadre job set 17 --priority 10\n  cadre job set 17 --weight 2 --max-slots 16\n"},
                               options->client);
  add_target(command, "job", options->target, "The job");
  CLI::Option_group& what = *command.add_option_group("what");
  what.add_option("--priority", options->request.priority, "1 to 99, smaller is more important")
      ->check(CLI::Range(1, 99));
  what.add_option("--weight", options->request.weight, "Of its group, under fair_share")
      ->check(CLI::Range(0.001, 1'000'000.0));
  what.add_option("--max-slots", options->request.max_slots, "Most slots that its group may hold")
      ->check(CLI::NonNegativeNumber);
  what.add_option("--pool", options->request.pool, "Another pool, while it waits");
  what.require_option(1, 0);
  on_choice(command, chosen, options, set);
}

}  // namespace

void add_job_commands(CLI::App& app, Chosen& chosen) {
  CLI::App& job = add_verb(app, {"job", "Look at the queue and change it", "  cadre job list\n  cadre why 17\n"});
  job.require_subcommand(1);

  const auto listing = std::make_shared<ListOptions>();
  CLI::App& list_command =
      add_list(job, {"list", "List jobs, the newest first", "  cadre job list --active\n"}, *listing);
  on_choice(list_command, chosen, listing, list);

  const auto one = std::make_shared<OneOptions>();
  CLI::App& show_command =
      add_verb(job, {"describe", "Say all about one job", "  cadre job describe 17\n"}, one->client);
  add_target(show_command, "job", one->target, "The job");
  on_choice(show_command, chosen, one, show);

  add_end_commands(job, chosen);
  add_wait_command(job, chosen);
  add_logs_command(job, chosen);
  add_move(job, chosen);
  add_set(job, chosen);
}

}  // namespace cadre::cli
