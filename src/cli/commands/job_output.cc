#include "cli/commands/job_output.h"

#include <algorithm>

namespace cadre::cli {
namespace {

using cluster::requests::JobView;
using cluster::requests::TaskView;
namespace requests = cluster::requests;

/// How long after the end of a task its last output may still arrive; output that is missing later is lost.
constexpr Duration late_most = std::chrono::minutes(2);

/// Which of the job's tasks are meant; none when there is no such task.
std::vector<TaskView> meant(const JobView& job, const Target& target, std::optional<std::int32_t> rank) {
  std::vector<TaskView> tasks;
  std::copy_if(job.tasks.begin(), job.tasks.end(), std::back_inserter(tasks), [&](const TaskView& task) {
    return (!target.names_task || task.id == target.task) && (!rank || task.rank == *rank);
  });
  return tasks;
}

std::string nothing_words(const JobView& job, const Target& target, const OutputOptions& options) {
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

loop::Task<int> follow_one(CommandContext& session, Target target, JobView job, const OutputOptions& options,
                           const OnJobLine& on_line) {
  std::optional<Follower> follower;
  FollowOptions following;
  following.on_line = [&](cluster::TaskId task, const logs::Line& line) {
    on_line(task, line, target.names_task ? 1 : follower->tasks_most());
  };
  if (target.names_task) following.only = target.task;
  following.only_rank = options.rank;
  following.filter = options.filter;
  following.last_lines = options.tail;
  follower.emplace(session, std::move(following));
  const Result<JobView> ended = co_await follower->to_end(std::move(job));
  co_return ended ? done : session.complain(ended.error());
}

OutputLine output_line(cluster::TaskId task, const logs::Line& line, std::optional<experiment::TrialId> trial) {
  const char* stream = line.stream == logs::Stream::out ? "out" : line.stream == logs::Stream::err ? "err" : "note";
  return {trial, task, line.time, stream, std::string(line.text), line.continues};
}

}  // namespace

void add_output_options(CLI::App& command, OutputOptions& options) {
  command.add_flag("-f,--follow", options.follow,
                   "Print new output until the end; with --json, print one JSON value per line");
  command.add_option("--tail", options.tail, "Start this many lines before the end")
      ->type_name("LINES")
      ->check(CLI::Range(1, 1'000'000));
  add_duration(command, "--since", options.since, Duration(0), "Only lines that are at most this old");
  command
      .add_option_function<std::string>(
          "--level",
          [&options](const std::string& text) {
            const auto level = describe::read<Level>(describe::Value(text));
            if (!level) throw CLI::ValidationError("--level", level.error().begin()->message);
            options.filter.level = *level;
          },
          "Only lines with at least this level: debug, info, warning or error")
      ->type_name("LEVEL");
  command.add_option("--grep", options.filter.grep, "Only lines that contain this text")->type_name("TEXT");
}

loop::Task<int> show_output(CommandContext& session, Target target, const OutputOptions& options,
                            const OnJobLine& on_line) {
  const Result<JobView> job = co_await ask(session, requests::GetJob{target.job(), std::nullopt});
  if (!job) co_return session.complain(job.error());
  const std::vector<TaskView> tasks = meant(*job, target, options.rank);
  const bool has_ended = job->stage == cluster::JobStage::ended;
  const bool follows = options.follow && !has_ended && !options.epoch;
  if (tasks.empty() && (!follows || !job->tasks.empty())) {
    co_return session.complain(failed, nothing_words(*job, target, options));
  }
  OutputOptions wanted = options;
  if (options.since) wanted.filter.since = session.calendar.now() - *options.since;
  if (follows) {
    const int code = co_await follow_one(session, target, *job, wanted, on_line);
    co_return code;
  }
  const std::size_t count = target.names_task ? 1 : job->tasks.size();
  const OnLine each = [&](cluster::TaskId task, const logs::Line& line) { on_line(task, line, count); };
  for (const TaskView& task : tasks) {
    const std::uint64_t epoch = options.epoch.value_or(task.epoch);
    Reading reading{{task.id, {epoch}}, 0, options.tail, 0, wanted.filter};
    const bool just_ended = task.ended && session.calendar.now() - *task.ended < late_most;
    if (just_ended && task.ending && epoch == task.epoch) reading.end = task.ending->output_end;
    const Result<void> read = co_await read_all(session, reading, each);
    if (!read) co_return session.complain(read.error());
  }
  co_return done;
}

LineSink::LineSink(Form form)
    : form_(form), printer_([](LinePrinter::To to, std::string_view text) {
        to == LinePrinter::To::out ? print(text) : print_error(text);
      }) {}

LineSink::Form LineSink::form_of(const ClientOptions& client, const OutputOptions& options) {
  if (!client.json) return Form::text;
  return options.follow ? Form::json_lines : Form::json_list;
}

void LineSink::take(cluster::TaskId task, const logs::Line& line, const std::string& prefix,
                    std::optional<experiment::TrialId> trial) {
  switch (form_) {
    case Form::text: return printer_.print(prefix, line);
    case Form::json_lines: return print_json(output_line(task, line, trial));
    case Form::json_list: lines_.push_back(output_line(task, line, trial)); break;
  }
}

void LineSink::finish() const {
  if (form_ == Form::json_list) print_json(lines_);
}

loop::Task<void> note_code(loop::Task<int> task, int& code) {
  const int own = co_await std::move(task);
  code = code == done ? own : code;
}

}  // namespace cadre::cli
