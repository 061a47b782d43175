#include "cli/commands/submission.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "base/rounded.h"
#include "cli/follow.h"
#include "cli/input.h"
#include "cli/line_printer.h"
#include "cli/terminal.h"
#include "cli/usage.h"
#include "cli/words.h"
#include "client/cluster/packed_code.h"
#include "describe/utf8.h"
#include "loop/signals.h"

namespace cadre::cli {
namespace {

using cluster::JobStage;
using cluster::requests::JobView;
using cluster::requests::TaskView;
namespace requests = cluster::requests;

constexpr Duration look_at_output_every = std::chrono::milliseconds(100);

/// The first interrupt stops the job, the second kills it, the third leaves it alone. Output that cannot be written any
/// more counts as the first.
class Interrupts {
 public:
  Interrupts(CommandContext& session, cluster::JobId job) : session_(session), job_(job), tasks_(session.loop) {}

  Result<void> watch() {
    TRY_ASSIGN(watch, loop::on_signal(session_.loop, {SIGINT, SIGTERM, SIGHUP}, [this](int) { hear(); }));
    watch_ = std::move(watch);
    ::signal(SIGPIPE, SIG_IGN);  // else it would end this command and leave the job alone
    tasks_.spawn(watch_output(*this));
    return {};
  }

 private:
  void hear() {
    const std::string job = "job " + std::to_string(job_.value);
    switch (++heard_) {
      case 1:
        say("stopping " + job + " within its grace period; interrupt again to kill it");
        tasks_.spawn(end(*this, std::nullopt));
        break;
      case 2:
        say("killing " + job + "; interrupt again to exit without waiting");
        tasks_.spawn(end(*this, Duration(0)));
        break;
      default:
        say("requested the end of " + job + ", which may still be running; see cadre job describe " +
            std::to_string(job_.value));
        session_.leave(128 + SIGINT);
    }
  }
  void say(const std::string& text) const { print_error("\n" + session_.name + ": " + text + "\n"); }

  static loop::Task<void> watch_output(Interrupts& self) {
    while (write_error() == 0) co_await loop::sleep(self.session_.loop, look_at_output_every);
    if (self.heard_ == 0) self.hear();
  }

  static loop::Task<void> end(Interrupts& self, std::optional<Duration> grace) {
    const Result<JobView> ended = co_await ask(self.session_, requests::EndJob{self.job_, grace}, rest::absence_max);
    if (!ended) self.session_.complain(ended.error());
  }

  CommandContext& session_;
  const cluster::JobId job_;
  int heard_ = 0;
  loop::Tasks tasks_;
  std::optional<loop::SignalWatch> watch_;
};

/// Tells of tasks that have failed while the others go on, each time once.
class Failures {
 public:
  explicit Failures(const CommandContext& session) : session_(session) {}

  void look(const JobView& job, const std::function<std::string(cluster::TaskId)>& name_of, LinePrinter& printer) {
    if (job.stage != JobStage::running) return;
    for (const TaskView& task : job.tasks) {
      if (!task.ending || exit_code_of(task.ending->reason, task.ending->code) == done) continue;
      if (std::exchange(told_[task.id], task.epoch) == task.epoch) continue;
      std::string words = ending_words(task.ending->reason, task.ending->code, task.ending->detail);
      if (task.restart_at) {
        words += "; it is restarted in " + rounded(*task.restart_at - session_.calendar.now());
      }
      const std::string name = name_of(task.id);
      printer.note(session_.name + ": " + (name.empty() ? "the task" : name) + " " + words);
    }
  }

 private:
  const CommandContext& session_;
  std::map<cluster::TaskId, std::uint64_t> told_;  ///< the epoch
};

/// Which of several tasks it ended for, how that one ended, and which were stopped for it; empty: no single one.
std::string failure_words(const JobView& job) {
  if (!job.failed || job.tasks.size() < 2 || job.reason == cluster::lease::Reason::killed_by_user) return "";
  const auto failed = std::find_if(job.tasks.begin(), job.tasks.end(),
                                   [&](const TaskView& task) { return task.id == *job.failed && task.ending; });
  if (failed == job.tasks.end()) return "";
  std::vector<std::int32_t> stopped;
  for (const TaskView& task : job.tasks) {
    const bool ended_well = task.ending && exit_code_of(task.ending->reason, task.ending->code) == done;
    if (task.id != failed->id && !ended_well) stopped.push_back(task.rank);
  }
  std::sort(stopped.begin(), stopped.end());
  std::string words = "task " + to_string(failed->id) + " (" + failed->role + ", rank " + std::to_string(failed->rank) +
                      ", on " + failed->agent.value + ") " +
                      ending_words(failed->ending->reason, failed->ending->code, failed->ending->detail);
  return stopped.empty() ? words : words + "; stopped because of it: " + rank_words(stopped);
}

int show_end(const CommandContext& session, const JobView& job, const ClientOptions& client) {
  if (client.json) print_json(job);
  const std::string failure = failure_words(job);
  if (!failure.empty() || job.reason != cluster::lease::Reason::exited) {
    print_error(session.name + ": job " + std::to_string(job.id.value) + ": " +
                describe::escaped_lines(failure.empty() ? ending_words(job) : failure) + "\n");
  }
  return exit_code_of(job);
}

loop::Task<int> follow(CommandContext& session, JobView job, std::shared_ptr<const Submission> submission) {
  Interrupts interrupts(session, job.id);
  if (const Result<void> watching = interrupts.watch(); !watching) {
    co_return session.complain(failed, watching.error().message);
  }
  // With --json, standard output is for the one value.
  LinePrinter printer([json = submission->client.json](LinePrinter::To to, std::string_view text) {
    to == LinePrinter::To::out && !json ? print(text) : print_error(text);
  });
  Failures failures(session);
  std::optional<Follower> follower;
  const auto name_of = [&](cluster::TaskId task) { return submission->name_of(task, follower->tasks_most()); };
  FollowOptions following;
  following.on_line = [&](cluster::TaskId task, const logs::Line& line) {
    const std::string name = name_of(task);
    printer.print(name.empty() ? "" : "[" + name + "] ", line);
  };
  following.on_job = [&](const JobView& one) { failures.look(one, name_of, printer); };
  following.all_leases = true;
  following.waiting = isatty(2) == 1 ? Waiting::on_terminal : Waiting::in_lines;
  follower.emplace(session, std::move(following));
  const std::string id = std::to_string(job.id.value);
  std::optional<RawMode> raw;
  if (submission->terminal) {
    Result<RawMode> begun = RawMode::begin();
    if (!begun) co_return session.complain(failed, begun.error().message);
    raw.emplace(*std::move(begun));
  }
  std::optional<InputSender> sender;
  if (submission->input && may_read_input()) {
    sender.emplace(session, InputSender::Options{{job.id, 0}, 0, 0, submission->terminal, 0});
  }
  const Result<JobView> ended = co_await follower->to_end(std::move(job));
  sender.reset();
  raw.reset();
  if (!ended) {
    const int code = session.complain(ended.error());
    print_error(session.name + ": job " + id + " may still be running; follow it again with: cadre task logs -f " + id +
                "\n");
    co_return code;
  }
  co_return show_end(session, *ended, submission->client);
}

loop::Task<int> submit_to(CommandContext& session, std::shared_ptr<const Submission> submission) {
  cluster::JobSpec spec = submission->spec;
  if (!submission->code.empty()) {
    const std::string folder = submission->code;
    const std::string option = "--dir";
    const auto code = co_await send_code(session, folder, option);
    if (!code) co_return code.error();
    for (cluster::MemberSpec& member : spec.members) {
      if (member.command.code.empty()) member.command.code = *code;
    }
  }
  requests::Submit request{std::move(spec)};  // named: g++ 12 destroys such a temporary twice
  const Result<JobView> job = co_await ask(session, request);
  if (!job) co_return session.complain(job.error());
  if (submission->follows) {
    const int code = co_await follow(session, *job, submission);
    co_return code;
  }
  if (submission->client.json) {
    print_json(*job);
  } else {
    print(std::to_string(job->id.value) + "\n");
  }
  co_return done;
}

}  // namespace

loop::Task<tl::expected<std::string, int>> send_code(CommandContext& session, std::string folder, std::string option) {
  const Result<std::unique_ptr<client::PackedCode>> code = client::PackedCode::pack(folder);
  if (!code) {
    co_return tl::unexpected(session.complain(exit_code_of_usage(code.error()), option + ": " + code.error().message));
  }
  const Result<void> sent = co_await (*code)->send(session.connection);
  if (!sent) {
    co_return tl::unexpected(session.complain(exit_code_of(sent.error()), option + ": " + sent.error().message));
  }
  for (const std::string& path : (*code)->skipped()) {
    print_error(session.name + ": skipped " + path + ": it is not a file, folder or symbolic link\n");
  }
  for (const std::string& path : (*code)->data_folders()) {
    print_error(session.name + ": skipped " + path + ": it is the data folder of a master or an agent\n");
  }
  co_return (*code)->hash();
}

int submit(const CLI::App& command, Submission submission) {
  ClientOptions client = settled(command, submission.client);
  client.passes_code = submission.follows || passes_code(command);
  const auto shared = std::make_shared<const Submission>(std::move(submission));
  return with_master(full_name(command), client,
                     [shared](CommandContext& session) { return submit_to(session, shared); });
}

int refuse(const CLI::App& command, const std::string& faults) {
  const std::string name = full_name(command);
  print_error(faults);
  print_error(name + ": nothing was submitted; " + name +
              " --help lists the options, docs/reference/ the fields of files\n");
  return passes_code(command) ? own_failure : bad_usage;
}

}  // namespace cadre::cli
