#include "cli/follow.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/words.h"
#include "describe/utf8.h"

namespace cadre::cli {
namespace {

using namespace std::chrono_literals;
using cluster::JobStage;
using cluster::requests::JobView;
namespace requests = cluster::requests;

/// The master answers after 20 s at the latest, whether or not something has changed.
constexpr Duration ask_max = 40s;
constexpr Duration why_every = 2s;
/// A job that starts soon needs no message; a reason that changes often is not repeated each time.
constexpr Duration tell_after = 5s;
constexpr Duration tell_again_after = 10s;
constexpr Duration notice_absence_after = 2s;

std::size_t terminal_width() {
  winsize size{};
  return ioctl(2, TIOCGWINSZ, &size) == 0 && size.ws_col > 20 ? size.ws_col : 80;
}

}  // namespace

std::string name_among(cluster::TaskId task, std::size_t tasks) { return tasks < 2 ? "" : std::to_string(task.member); }

std::string prefix_of(cluster::TaskId task, std::size_t tasks) {
  const std::string name = name_among(task, tasks);
  return name.empty() ? "" : "[" + name + "] ";
}

Follower::Follower(CommandContext& session, FollowOptions options)
    : session_(session),
      options_(std::move(options)),
      there_(session.loop.now()),
      readers_(session.loop),
      others_(session.loop) {}

Follower::~Follower() { clear_waiting(); }

void Follower::take(const JobView& job) {
  note_connection();
  waits_ = cluster::waits(job.stage);
  if (!waits_) clear_waiting();
  tasks_most_ = std::max(tasks_most_, job.tasks.size());
  if (options_.on_job) options_.on_job(job);
  if (!options_.on_line) return;
  for (const requests::TaskView& task : job.tasks) {
    if (options_.only && *options_.only != task.id) continue;
    if (options_.only_rank && *options_.only_rank != task.rank) continue;
    auto& output = outputs_[task.id];
    if (!output) {
      output = std::make_unique<TaskOutput>(session_, readers_,
                                            TaskOutput::Options{task.id, options_.all_leases, options_.last_lines,
                                                                options_.on_line, options_.filter, options_.idle_max});
    }
    output->tell(task);
  }
}

loop::Task<Result<JobView>> Follower::to_end(JobView job) {
  if (options_.waiting == Waiting::on_terminal) others_.spawn(show_waiting(job.id));
  if (options_.waiting == Waiting::in_lines) others_.spawn(tell_waiting(job.id));
  others_.spawn(watch_connection());
  for (take(job); job.stage != JobStage::ended; take(job)) {
    Result<JobView> next = co_await changed(job.id, job.version);
    if (!next) co_return next;
    job = *std::move(next);
  }
  for (const auto& [task, output] : outputs_) output->tell_over();
  co_await readers_.ended();
  co_return job;
}

loop::Task<Result<JobView>> Follower::changed(cluster::JobId job, std::uint64_t seen) {
  Result<JobView> next = co_await session_.connection.ask_once(requests::GetJob{job, seen}, ask_max);
  if (next) co_return next;
  if (session_.connection.is_connected())
    co_await loop::sleep(session_.loop, why_every);  // the master has too many waiting requests
  // Versions do not survive a restart of the master, so its current answer counts even if the number is the same.
  // A master that is busy is waited for like one that is unreachable.
  const TimePoint until = session_.loop.now() + rest::absence_max;
  for (;;) {
    Result<JobView> view = co_await ask(session_, requests::GetJob{job, std::nullopt}, rest::absence_max);
    if (view || exit_code_of(view.error()) != unreachable || session_.loop.now() >= until) co_return view;
    co_await loop::sleep(session_.loop, why_every);
  }
}

loop::Task<void> Follower::watch_connection() {
  for (;;) {
    co_await loop::sleep(session_.loop, 200ms);
    note_connection();
  }
}

void Follower::note_connection() {
  if (session_.connection.is_connected()) {
    there_ = session_.loop.now();
    if (std::exchange(said_gone_, false)) print_error(session_.name + ": the master is reachable again\n");
  } else if (!said_gone_ && session_.loop.now() - there_ > notice_absence_after) {
    said_gone_ = true;
    clear_waiting();
    print_error(session_.name + ": the master is unreachable; waiting for it to return (tasks continue without it)\n");
  }
}

loop::Task<std::string> Follower::why_it_waits(cluster::JobId job) {
  if (!waits_ || !session_.connection.is_connected()) co_return "";
  const Result<requests::Text> why = co_await ask(session_, requests::Why{job});
  if (!why || !waits_) co_return "";
  const std::string first = why->text.substr(0, why->text.find('\n'));
  const bool says_that_it_waits =
      first.starts_with("waits") || first.starts_with("preempts") || first.starts_with("runs");
  co_return "job " + std::to_string(job.value) + (says_that_it_waits ? " " : " waits: ") + describe::escaped(first);
}

loop::Task<void> Follower::show_waiting(cluster::JobId job) {
  for (;;) {
    co_await loop::sleep(session_.loop, shown_ ? why_every : Duration(500ms));
    const std::string line = co_await why_it_waits(job);
    if (line.empty()) continue;
    print_error("\r\x1b[K" + describe::shortened(line, terminal_width() - 4));
    shown_ = true;
  }
}

loop::Task<void> Follower::tell_waiting(cluster::JobId job) {
  std::string said;
  co_await loop::sleep(session_.loop, tell_after);
  for (;;) {
    const std::string line = co_await why_it_waits(job);
    const bool is_new = !line.empty() && line != said;
    if (is_new) print_error(session_.name + ": " + line + "\n");
    if (is_new) said = line;
    co_await loop::sleep(session_.loop, is_new ? tell_again_after : why_every);
  }
}

void Follower::clear_waiting() {
  if (std::exchange(shown_, false)) print_error("\r\x1b[K");
}

}  // namespace cadre::cli
