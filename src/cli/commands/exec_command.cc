#include <csignal>

#include "base/overloaded.h"
#include "cli/commands/verb.h"
#include "loop/signals.h"

namespace cadre::cli {
namespace {

using namespace std::chrono_literals;
namespace requests = cluster::requests;
namespace supervision = cluster::supervision;

/// So long at most passes without a word to the master, which takes silent clients for gone.
constexpr Duration ask_every = 30s;

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

/// The first interrupt kills what runs, the second leaves at once.
class Interrupts {
 public:
  Interrupts(Session& session, std::uint64_t question) : session_(session), question_(question) {}

  Result<void> watch() {
    TRY_ASSIGN(watch, loop::on_signal(session_.loop, {SIGINT, SIGTERM}, [this](int signal) {
                 if (ending_) return session_.leave(128 + signal);
                 came_ = signal;
                 print_error("\n" + session_.name + ": ending it; once more leaves it alone\n");
                 ending_ = session_.connection.begin(requests::EndExec{question_});
               }));
    watch_ = std::move(watch);
    return {};
  }
  /// The number of the first; 0: none.
  int came() const { return came_; }

 private:
  Session& session_;
  const std::uint64_t question_;
  int came_ = 0;
  std::unique_ptr<Connection::Control::Conversation> ending_;
  std::optional<loop::SignalWatch> watch_;
};

loop::Task<int> exec(Session& session, std::shared_ptr<const ExecOptions> options) {
  const bool json = options->client.json;
  const auto talk = session.connection.begin(requests::RunExec{options->target.task, options->command});
  Interrupts interrupts(session, talk->number());
  if (const auto watched = interrupts.watch(); !watched) co_return session.complain({failed, watched.error().message});
  for (;;) {
    auto answer = co_await talk->next(ask_every);
    if (!answer) {
      Refusal refusal = refusal_of(session.connection.explain(answer.error()));
      if (answer.error().code == Errc::timed_out) {
        refusal.message = "the connection to the master was lost; what was run may go on in the task";
      }
      co_return session.complain(refusal);
    }
    if (!*answer) {
      const Got<requests::Status> there = co_await ask(session, requests::GetStatus{});
      if (!there && there.error().code != unreachable) co_return session.complain(there.error());
      continue;
    }
    const Got<cluster::messages::ExecNews> news = as<cluster::messages::ExecNews>((**std::move(answer)).reply);
    if (!news) co_return session.complain(news.error());
    if (const std::optional<ExecOutcome> outcome = take(*news, json)) {
      const int code = finish(session, *outcome, json);
      co_return interrupts.came() == 0 ? code : 128 + interrupts.came();
    }
  }
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
