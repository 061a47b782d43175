#include <unistd.h>

#include <csignal>

#include "base/overloaded.h"
#include "cli/commands/verb.h"
#include "cli/input.h"
#include "cli/inquiry.h"
#include "cli/terminal.h"
#include "loop/signals.h"

namespace cadre::cli {
namespace {

using namespace std::chrono_literals;
namespace requests = cluster::requests;
namespace supervision = cluster::supervision;

/// Of output that may be under way; the program waits when nobody takes it.
constexpr std::int64_t output_window = std::int64_t{1} << 20;

struct ExecOptions {
  ClientOptions client;
  Target target;
  std::vector<std::string> command;
  bool terminal = false;
  bool no_input = false;
};

struct ExecOutcome {
  std::int32_t code = 0;
  std::string error;
};
template <class V>
void describe(V& v, ExecOutcome& o) {
  v.required("code", o.code, "Exit code; 128 plus the signal number if a signal ended the command.");
  v.field("error", o.error, "Why the command could not run.");
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

int finish(const CommandContext& session, const ExecOutcome& outcome, bool json) {
  if (json) print_json(outcome);
  if (outcome.error.empty()) return outcome.code & 0xff;
  session.complain(failed, outcome.error);
  return own_failure;
}

/// A command that runs in a task, as it is told about line by line.
class Talk {
 public:
  /// Reads from that descriptor what it passes on; -1: nothing.
  Talk(CommandContext& session, const ExecOptions& options, int input)
      : session_(session), options_(options), input_(input) {}

  void hear(std::string_view line) {
    if (line.empty() || outcome || trouble) return;
    const Result<cluster::messages::ExecNews> news = session_.connection.read<cluster::messages::ExecNews>(line);
    if (!news) {
      trouble = news.error();
      return;
    }
    if (!sender_) {
      sender_.emplace(
          session_, InputSender::Options{options_.target.task, news->number, input_, options_.terminal, output_window});
    }
    if (const auto* output = std::get_if<supervision::ExecOutput>(&news->news)) sender_->saw(output->bytes.size());
    outcome = take(*news, options_.client.json);
  }

  std::optional<ExecOutcome> outcome;
  std::optional<Error> trouble;

 private:
  CommandContext& session_;
  const ExecOptions& options_;
  const int input_;
  std::optional<InputSender> sender_;
};

loop::Task<int> exec(CommandContext& session, std::shared_ptr<const ExecOptions> options) {
  const bool reads = !options->no_input && may_read_input();
  requests::RunExec request{options->target.task, options->command, reads, std::nullopt, output_window};
  std::optional<RawMode> raw;
  if (options->terminal) {
    request.terminal = terminal_here();
    if (isatty(0) != 1) co_return session.complain(bad_usage, "standard input is not a terminal; omit -t");
    Result<RawMode> begun = RawMode::begin();
    if (!begun) co_return session.complain(failed, begun.error().message);
    raw.emplace(*std::move(begun));
  }
  Talk talk(session, *options, reads ? 0 : -1);
  Inquiry<Result<void>>* asked = nullptr;
  const auto on_line = [&](std::string_view line) {
    talk.hear(line);
    if (talk.trouble) asked->interrupt();
  };
  Inquiry<Result<void>> question(session.loop, session.connection.stream(std::move(request), on_line));
  asked = &question;
  int interrupted = 0;
  const auto watch = loop::on_signal(session.loop, {SIGINT, SIGTERM, SIGHUP}, [&](int signal) {
    interrupted = signal;
    question.interrupt();
  });
  if (!watch) co_return session.complain(failed, watch.error().message);
  const std::optional<Result<void>> ended = co_await question.answer(Duration::max());
  raw.reset();
  if (interrupted != 0) {  // closing the stream ends the command
    print_error("\n" + session.name + ": interrupted; the command is ended\n");
    co_return 128 + interrupted;
  }
  if (talk.outcome) co_return finish(session, *talk.outcome, options->client.json);
  if (talk.trouble) co_return session.complain(*talk.trouble);
  if (ended && !*ended) co_return session.complain(ended->error());
  co_return session.complain(unreachable, std::string(rest::stream_lost));
}

}  // namespace

void add_exec_command(CLI::App& noun, Chosen& chosen) {
  const auto options = std::make_shared<ExecOptions>();
  options->client.passes_code = true;
  CLI::App& command = add_verb(noun,
                               {"exec", "Run a command in a running task, print its output and exit with its exit code",
                                "  " + full_name(noun) + " exec 17.0 -- nvidia-smi\n  " + full_name(noun) +
                                    " exec -t 17 -- bash\n  " + full_name(noun) +
                                    " exec 17 -- tee notes.txt < notes.txt\n"
                                    "Exits with the exit code of the command, or with 125 if cadre itself fails.\n"},
                               options->client);
  add_target(command, "task", options->target, "Task ID; a job ID selects its first task");
  command.add_flag("-t,--terminal", options->terminal, "Run the command on a terminal with the size of this one");
  command.add_flag("--no-input", options->no_input,
                   "Give the command an empty standard input; default: pass standard input on");
  command.add_flag("-i,--input")->description("Pass standard input on (the default)")->group("");
  command.add_option("command", options->command, "Command to run, after --")->required()->type_name("COMMAND");
  on_choice(command, chosen, options, exec);
}

}  // namespace cadre::cli
