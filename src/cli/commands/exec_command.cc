#include <csignal>

#include "base/overloaded.h"
#include "cli/commands/verb.h"
#include "cli/inquiry.h"
#include "loop/signals.h"

namespace cadre::cli {
namespace {

using namespace std::chrono_literals;
namespace requests = cluster::requests;
namespace supervision = cluster::supervision;

struct ExecOptions {
  ClientOptions client;
  Target target;
  std::vector<std::string> command;
};

struct ExecOutcome {
  std::int32_t code = 0;
  std::string error;
};
template <class V>
void describe(V& v, ExecOutcome& o) {
  v.required("code", o.code, "Exit code; 128 and the number of the signal, if one ended it.");
  v.field("error", o.error, "Why it could not run.");
}

/// Shows what was written; the outcome, if that was the end.
std::optional<ExecOutcome> take(const cluster::messages::ExecNews& news, bool json) {
  return std::visit(overloaded{
                        [&](const supervision::ExecOutput& output) -> std::optional<ExecOutcome> {
                          const std::string_view text = as_text(output.bytes);
                          output.stream == 1 && !json ? print(text) : print_error(text);
                          flush_output();
                          return std::nullopt;
                        },
                        [&](const supervision::ExecEnded& ended) -> std::optional<ExecOutcome> {
                          return ExecOutcome{ended.code, ended.error};
                        },
                    },
                    news.news);
}

int finish(const Session& session, const ExecOutcome& outcome, bool json) {
  if (json) print_json(outcome);
  if (outcome.error.empty()) return outcome.code & 0xff;
  session.complain({failed, outcome.error});
  return outcome.code == 0 ? failed : outcome.code & 0xff;
}

loop::Task<int> exec(Session& session, std::shared_ptr<const ExecOptions> options) {
  const bool json = options->client.json;
  std::optional<ExecOutcome> outcome;
  std::optional<Refusal> trouble;
  Inquiry<Got<void>>* asked = nullptr;
  const auto on_line = [&](std::string_view line) {
    if (line.empty() || outcome || trouble) return;
    const Got<cluster::messages::ExecNews> news = session.connection.read<cluster::messages::ExecNews>(line);
    if (!news) {
      trouble = news.error();
      asked->interrupt();
    } else {
      outcome = take(*news, json);
    }
  };
  requests::RunExec request{options->target.task, options->command};
  Inquiry<Got<void>> question(session.loop, session.connection.stream(std::move(request), on_line));
  asked = &question;
  int interrupted = 0;
  const auto watch = loop::on_signal(session.loop, {SIGINT, SIGTERM}, [&](int signal) {
    interrupted = signal;
    question.interrupt();
  });
  if (!watch) co_return session.complain({failed, watch.error().message});
  const std::optional<Got<void>> ended = co_await question.answer(Duration::max());
  if (interrupted != 0) {  // that nobody listens any more ends it
    print_error("\n" + session.name + ": ended it\n");
    co_return 128 + interrupted;
  }
  if (outcome) co_return finish(session, *outcome, json);
  if (trouble) co_return session.complain(*trouble);
  if (ended && !*ended) co_return session.complain(ended->error());
  co_return session.complain({unreachable, std::string(client::stream_lost)});
}

}  // namespace

void add_exec_command(CLI::App& task, Chosen& chosen) {
  const auto options = std::make_shared<ExecOptions>();
  CLI::App& command = add_verb(task,
                               {"exec", "Run a command inside a running task, with its output here and its exit code",
                                "  cadre task exec 17.0 -- nvidia-smi\n"},
                               options->client);
  add_target(command, "task", options->target, "The task; of a job, its first");
  command.add_option("command", options->command, "What to run, after --")->required()->type_name("COMMAND");
  on_choice(command, chosen, options, exec);
}

}  // namespace cadre::cli
