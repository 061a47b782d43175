#include <algorithm>

#include "cli/commands/verb.h"
#include "cli/follow.h"
#include "cli/line_printer.h"

namespace cadre::cli {
namespace {

using cluster::requests::JobView;
using cluster::requests::TaskView;
namespace requests = cluster::requests;

/// How long after the end of a task its last output may still arrive; output that is missing later is lost.
constexpr Duration late_most = std::chrono::minutes(2);

struct LogsOptions {
  std::optional<std::uint64_t> epoch;
  ClientOptions client;
  std::vector<Target> targets;
  bool follow = false;
  std::int64_t tail = 0;
  std::optional<Duration> since;
  std::optional<std::int32_t> rank;
  LineFilter filter;
};

struct OutputLine {
  cluster::TaskId task;
  TimePoint time;
  std::string stream;
  std::string text;
  bool continues = false;
};
template <class V>
void describe(V& v, OutputLine& l) {
  v.required("task", l.task, "Task that wrote the line.");
  v.required("time", l.time, "When it was written.");
  v.required("stream", l.stream, "out, err, or note for a message from cadre.");
  v.required("text", l.text, "The line.");
  v.field("continues", l.continues, "Whether the line continues in the next one, or ended without a newline.");
}

OutputLine output_line(cluster::TaskId task, const logs::Line& line) {
  const char* stream = line.stream == logs::Stream::out ? "out" : line.stream == logs::Stream::err ? "err" : "note";
  return {task, line.time, stream, std::string(line.text), line.continues};
}

/// Which of the job's tasks are meant; none when there is no such task.
std::vector<TaskView> meant(const JobView& job, const Target& target, std::optional<std::int32_t> rank) {
  std::vector<TaskView> tasks;
  std::copy_if(job.tasks.begin(), job.tasks.end(), std::back_inserter(tasks), [&](const TaskView& task) {
    return (!target.names_task || task.id == target.task) && (!rank || task.rank == *rank);
  });
  return tasks;
}

std::string nothing_words(const JobView& job, const Target& target, const LogsOptions& options) {
  const std::string id = std::to_string(job.id.value);
  if (!job.tasks.empty() && options.rank) {
    return "there is no task of rank " + std::to_string(*options.rank) + "; see cadre job describe " + id;
  }
  if (!job.tasks.empty()) {
    return "there is no task " + to_string(target.task) + "; see cadre job describe " + id;
  }
  if (job.stage == cluster::JobStage::ended) return "job " + id + " never ran; see cadre why " + id;
  return "job " + id + " is waiting and has no output yet; see cadre why " + id + ", or follow it with -f";
}

/// Prints the lines of all tasks that are meant.
class LineSink {
 public:
  explicit LineSink(const LogsOptions& options)
      : options_(options), printer_([](LinePrinter::To to, std::string_view text) {
          to == LinePrinter::To::out ? print(text) : print_error(text);
        }) {}

  /// `tasks` are those of its job that are shown.
  void take(cluster::TaskId task, const logs::Line& line, std::size_t tasks) {
    if (options_.client.json && options_.follow) return print_json(output_line(task, line));
    if (options_.client.json) return lines_.push_back(output_line(task, line));
    printer_.print(options_.targets.size() > 1 ? "[" + to_string(task) + "] " : prefix_of(task, tasks), line);
  }
  /// What is followed has no end and comes line by line; all else is one JSON value.
  void finish() const {
    if (options_.client.json && !options_.follow) print_json(lines_);
  }

 private:
  const LogsOptions& options_;
  LinePrinter printer_;
  std::vector<OutputLine> lines_;
};

/// What all that read one log share. They must outlive it.
struct LogsCommand {
  CommandContext& session;
  const LogsOptions& options;
  LineSink& sink;
};

loop::Task<int> follow_one(LogsCommand command, Target target, JobView job, LineFilter filter) {
  std::optional<Follower> follower;
  FollowOptions following;
  following.on_line = [&](cluster::TaskId task, const logs::Line& line) {
    command.sink.take(task, line, target.names_task ? 1 : follower->tasks_most());
  };
  if (target.names_task) following.only = target.task;
  following.only_rank = command.options.rank;
  following.filter = std::move(filter);
  following.last_lines = command.options.tail;
  follower.emplace(command.session, std::move(following));
  const Result<JobView> ended = co_await follower->to_end(std::move(job));
  co_return ended ? done : command.session.complain(ended.error());
}

loop::Task<int> logs_of(LogsCommand command, Target target) {
  CommandContext& session = command.session;
  const LogsOptions& options = command.options;
  const Result<JobView> job = co_await ask(session, requests::GetJob{target.job(), std::nullopt});
  if (!job) co_return session.complain(job.error());
  const std::vector<TaskView> tasks = meant(*job, target, options.rank);
  const bool has_ended = job->stage == cluster::JobStage::ended;
  const bool follows = options.follow && !has_ended && !options.epoch;
  if (tasks.empty() && (!follows || !job->tasks.empty())) {
    co_return session.complain(failed, nothing_words(*job, target, options));
  }
  LineFilter filter = options.filter;
  if (options.since) filter.since = session.calendar.now() - *options.since;
  if (follows) {
    const int code = co_await follow_one(command, target, *job, filter);
    co_return code;
  }
  const std::size_t count = target.names_task ? 1 : job->tasks.size();
  const OnLine on_line = [&](cluster::TaskId task, const logs::Line& line) { command.sink.take(task, line, count); };
  for (const TaskView& task : tasks) {
    const std::uint64_t epoch = options.epoch.value_or(task.epoch);
    Reading reading{{task.id, {epoch}}, 0, options.tail, 0, filter};
    const bool just_ended = task.ended && session.calendar.now() - *task.ended < late_most;
    if (just_ended && task.ending && epoch == task.epoch) reading.end = task.ending->output_end;
    const Result<void> read = co_await read_all(session, reading, on_line);
    if (!read) co_return session.complain(read.error());
  }
  co_return done;
}

loop::Task<void> note_code(loop::Task<int> task, int& code) {
  const int own = co_await std::move(task);
  code = code == done ? own : code;
}

loop::Task<int> logs(CommandContext& session, std::shared_ptr<const LogsOptions> options) {
  LineSink sink(*options);
  const LogsCommand command{session, *options, sink};
  int code = done;
  loop::Tasks tasks(session.loop);
  for (const Target& target : options->targets) {
    tasks.spawn(note_code(logs_of(command, target), code));
    if (!options->follow) co_await tasks.ended();  // one after the other; those that are followed all at once
  }
  co_await tasks.ended();
  sink.finish();
  co_return code;
}

/// What all that show output take, but for whose it is.
CLI::App& add_logs(CLI::App& noun, Chosen& chosen, const Verb& verb, const std::shared_ptr<LogsOptions>& options) {
  CLI::App& command = add_verb(noun, verb, options->client);
  command.add_flag("-f,--follow", options->follow,
                   "Print new output until the end; with --json, print one JSON value per line");
  command
      .add_option("--epoch", options->epoch,
                  "Epoch of the run to show, which grows with each run of a task; default: the latest run")
      ->type_name("N")
      ->check(CLI::PositiveNumber);
  command.add_option("--tail", options->tail, "Start this many lines before the end")
      ->type_name("LINES")
      ->check(CLI::Range(1, 1'000'000));
  add_duration(command, "--since", options->since, Duration(0), "Only lines that are at most this old");
  command
      .add_option_function<std::string>(
          "--level",
          [options](const std::string& text) {
            const auto level = describe::read<Level>(describe::Value(text));
            if (!level) throw CLI::ValidationError("--level", level.error().begin()->message);
            options->filter.level = *level;
          },
          "Only lines with at least this level: debug, info, warning or error")
      ->type_name("LEVEL");
  command.add_option("--grep", options->filter.grep, "Only lines that contain this text")->type_name("TEXT");
  on_choice(command, chosen, options, logs);
  return command;
}

}  // namespace

void add_logs_command(CLI::App& noun, Chosen& chosen) {
  const auto options = std::make_shared<LogsOptions>();
  const std::string name = "  " + full_name(noun);
  CLI::App& command = add_logs(
      noun, chosen,
      {"logs", "Show the output of jobs or tasks",
       name + " logs 17.0\n" + name + " logs -f --tail 20 17\n" + name + " logs -f 17 18\n" + name +
           " logs --level warning --since 10m --grep loss 17\n" +
           "With several tasks, each line begins with the task number; with several jobs, with the task ID.\n"},
      options);
  add_targets(command, "job", options->targets, "Job or task IDs");
  command.add_option("--rank", options->rank, "Only the task with this rank")
      ->type_name("NUMBER")
      ->check(CLI::NonNegativeNumber);
}

void add_actor_logs_command(CLI::App& actor, Chosen& chosen) {
  const auto options = std::make_shared<LogsOptions>();
  CLI::App& command = add_logs(
      actor, chosen,
      {"logs", "Show the output of actors", "  cadre actor logs 17\n  cadre actor logs -f --tail 20 17\n"}, options);
  add_targets(command, "actor", options->targets, "Numbers of the actors");
}

}  // namespace cadre::cli
