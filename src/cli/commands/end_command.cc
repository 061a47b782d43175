#include "cli/commands/verb.h"
#include "cli/words.h"
#include "describe/utf8.h"

namespace cadre::cli {
namespace {

using cluster::requests::JobView;
namespace requests = cluster::requests;

struct EndOptions {
  ClientOptions client;
  std::vector<Target> targets;
  std::optional<Duration> grace;
  bool kills = false;
};

loop::Task<Result<JobView>> end_one(CommandContext& session, Target target, std::optional<Duration> grace) {
  if (target.names_task) return ask(session, requests::EndTask{target.task, grace});
  return ask(session, requests::EndJob{target.job(), grace});
}

loop::Task<int> end(CommandContext& session, std::shared_ptr<const EndOptions> options) {
  const std::optional<Duration> grace = options->kills ? Duration(0) : options->grace;
  int code = done;
  std::vector<JobView> jobs;
  for (const Target& target : options->targets) {  // a failure does not spare the other jobs
    const Result<JobView> job = co_await end_one(session, target, grace);
    if (!job) {
      const int bad = session.complain(job.error());
      code = code == done ? bad : code;
      continue;
    }
    jobs.push_back(*job);
    if (options->client.json) continue;
    const std::string id = std::to_string(target.job().value);
    if (job->stage == cluster::JobStage::ended) {
      print("job " + id + " has ended: " + describe::escaped(ending_words(*job)) + "\n");
    } else {
      print("job " + id + (options->kills ? " is being killed\n" : " is stopping\n"));
    }
  }
  if (options->client.json && options->targets.size() > 1) print_json(jobs);
  if (options->client.json && options->targets.size() == 1 && !jobs.empty()) print_json(jobs.front());
  co_return code;
}

void add_end(CLI::App& noun, Chosen& chosen, const Verb& verb, bool kills) {
  const auto options = std::make_shared<EndOptions>();
  options->kills = kills;
  CLI::App& command = add_verb(noun, verb, options->client);
  add_targets(command, "job", options->targets, "Job IDs; for a job with a single task, the task ID is accepted too");
  if (!kills) {
    add_duration(command, "--grace", options->grace, Duration(0),
                 "Time to exit before the job is killed; default: the grace period of the job");
  }
  on_choice(command, chosen, options, end);
}

}  // namespace

void add_end_commands(CLI::App& noun, Chosen& chosen) {
  const std::string name = "  " + full_name(noun);
  add_end(noun, chosen,
          {"stop", "Ask jobs to exit, and kill them after their grace period",
           name + " stop 17\n" + name + " stop --grace 5s 17 18\n"},
          false);
  add_end(noun, chosen, {"kill", "Kill jobs immediately", name + " kill 17\n" + name + " kill 17 18\n"}, true);
}

}  // namespace cadre::cli
