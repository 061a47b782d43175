#include "cli/commands/verb.h"
#include "cli/follow.h"
#include "cli/words.h"
#include "describe/utf8.h"

namespace cadre::cli {
namespace {

using cluster::requests::JobView;
namespace requests = cluster::requests;

struct WaitOptions {
  ClientOptions client;
  std::vector<Target> targets;
};

/// Waits for each in turn: all of them have ended when the last one has.
loop::Task<int> wait(CommandContext& session, std::shared_ptr<const WaitOptions> options) {
  int code = done;
  std::vector<JobView> jobs;
  for (const Target& target : options->targets) {
    Result<JobView> job = co_await ask(session, requests::GetJob{target.job(), std::nullopt});
    if (job) {
      Follower follower(session, {});
      job = co_await follower.to_end(*std::move(job));
    }
    const int own = job ? exit_code_of(*job) : session.complain(job.error());
    code = code == done ? own : code;
    if (!job) continue;
    jobs.push_back(*job);
    if (!options->client.json) {
      print("job " + std::to_string(job->id.value) + ": " + describe::escaped(ending_words(*job)) + "\n");
    }
    flush_output();
  }
  if (options->client.json && options->targets.size() > 1) print_json(jobs);
  if (options->client.json && options->targets.size() == 1 && !jobs.empty()) print_json(jobs.front());
  co_return code;
}

}  // namespace

void add_wait_command(CLI::App& noun, Chosen& chosen) {
  const auto options = std::make_shared<WaitOptions>();
  options->client.passes_code = true;
  const std::string name = "  " + full_name(noun);
  CLI::App& command = add_verb(
      noun,
      {"wait", "Wait until jobs end",
       name + " wait 17\n" + name + " wait 17 18 19\n" +
           "Exits like cadre run: with the exit code of the job, or of the first job that failed if there are\n"
           "several, and with 125 if cadre itself fails.\n"},
      options->client);
  add_targets(command, "job", options->targets, "Job IDs");
  on_choice(command, chosen, options, wait);
}

}  // namespace cadre::cli
