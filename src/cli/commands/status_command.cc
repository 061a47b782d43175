#include "cli/commands/last_lines.h"
#include "cli/commands/verb.h"
#include "describe/utf8.h"

namespace cadre::cli {
namespace {

using cluster::requests::JobView;
namespace requests = cluster::requests;

struct StatusOptions {
  ClientOptions client;
};

loop::Task<int> status(CommandContext& session, std::shared_ptr<const StatusOptions> options) {
  const Result<requests::Status> got = co_await ask(session, requests::GetStatus{});
  if (!got) co_return session.complain(got.error());
  if (options->client.json) {
    print_json(*got);
  } else {
    print(status_text(*got));
  }
  co_return done;
}

struct WhyOptions {
  ClientOptions client;
  Target target;
};

constexpr std::int64_t last_lines_shown = 5;

struct Reasons {
  cluster::JobId job;
  std::string text;
  std::vector<std::string> last_lines;
};
template <class V>
void describe(V& v, Reasons& r) {
  v.required("job", r.job, "Job ID.");
  v.required("text", r.text, "Why the job waits, runs where it runs, or ended.");
  v.field("last_lines", r.last_lines, "Last lines of its output, if the job failed.");
}

loop::Task<int> why(CommandContext& session, std::shared_ptr<const WhyOptions> options) {
  const cluster::JobId job = options->target.job();
  const Result<requests::Text> text = co_await ask(session, requests::Why{job});
  if (!text) co_return session.complain(text.error());
  Reasons reasons{job, text->text, {}};
  const Result<JobView> view = co_await ask(session, requests::GetJob{job, std::nullopt});
  if (view && ended_badly(*view)) reasons.last_lines = co_await last_lines_of(session, *view, last_lines_shown);
  if (options->client.json) {
    print_json(reasons);
    co_return done;
  }
  print("job " + std::to_string(job.value) + ": " + describe::escaped_lines(reasons.text) + "\n");
  if (!reasons.last_lines.empty()) print("last lines of its output:\n");
  for (const std::string& line : reasons.last_lines) print("  " + describe::escaped(line) + "\n");
  co_return done;
}

}  // namespace

void add_status_command(CLI::App& app, Chosen& chosen) {
  const auto options = std::make_shared<StatusOptions>();
  CLI::App& command =
      add_verb(app, {"status", "Show the capacity and usage of the cluster", "  cadre status\n"}, options->client);
  add_watch(command, options->client);
  on_choice(command, chosen, options, status);
}

void add_why_command(CLI::App& app, Chosen& chosen) {
  const auto options = std::make_shared<WhyOptions>();
  CLI::App& command = add_verb(
      app, {"why", "Explain why a job waits, runs where it runs, or ended", "  cadre why 17\n"}, options->client);
  add_target(command, "job", options->target, "Job or task ID");
  on_choice(command, chosen, options, why);
}

}  // namespace cadre::cli
