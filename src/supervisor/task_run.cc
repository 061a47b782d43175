#include "supervisor/task_run.h"

#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <utility>

#include "base/overloaded.h"
#include "supervisor/clock.h"
#include "supervisor/messages.h"

namespace cadre::supervisor {

using namespace cluster::supervision;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

constexpr Duration status_every = seconds(1);
constexpr Duration output_news_every = milliseconds(20);
constexpr Duration oom_check_every = milliseconds(250);
constexpr Duration listen_retry_after = milliseconds(200);
constexpr Duration kill_pause_most = milliseconds(100);
constexpr Duration last_words_most = seconds(2);
constexpr Duration output_wait_most = seconds(10);           // for room on the disk, after all processes are gone
constexpr Duration output_wait_stopped = milliseconds(500);  // the same of a task that was told to stop
constexpr Duration ending_wait = milliseconds(200);
constexpr int ending_attempts_alone = 50;  // no agent is there that could be told instead
constexpr int ending_attempts = 5;
constexpr Duration report_wait = seconds(3);       // for how a forked process has ended, once it has
constexpr Duration fork_wait_killed = seconds(1);  // for a template, when nobody wants its process any more

/// How often use is measured: rarely enough to cost little, whatever a look costs here.
Duration measure_pause(bool is_limit, Duration cost) {
  return is_limit ? std::max<Duration>(milliseconds(100), cost * 10) : std::max<Duration>(seconds(1), cost * 100);
}

}  // namespace

TaskRun::TaskRun(Task task, Descriptor agent, Log& log)
    : task_(std::move(task)), log_(log), agent_(std::move(agent)), life_(life_of(task_.launch)), told_at_(now()) {
  if (agent_.connected()) life_.agent_came();
  agent_calls_ = {.came =
                      [this] {
                        life_.agent_came();
                        execs_.cancel_all();
                        tasks_.send_again();
                        news_ = true;
                      },
                  .left =
                      [this] {
                        life_.agent_left(now());
                        execs_.cancel_all();
                        look_for_agents();
                      },
                  .said = [this](const FromAgent& message) { take(message); }};
  task_calls_ = {.heard = [this] { life_.heard(now()); },
                 .promised = [this] { life_.promised(now()); },
                 .attached = [this]() -> std::optional<StopNotice> {
                   news_ = true;
                   if (!life_.stopping()) return std::nullopt;
                   return stop_notice();
                 },
                 .ready = [this]() -> std::optional<Begin> {
                   news_ = true;
                   if (task_.launch.waits()) return std::nullopt;
                   return begin_;
                 }};
  forks_changed_ = [this] { news_ = true; };
}

Life TaskRun::life_of(const Launch& launch) {
  Life life({launch.abandon_after, launch.policy.liveness}, now());
  if (launch.permit_until) life.permit(TimePoint(*launch.permit_until));
  return life;
}

void TaskRun::run() {
  if (auto started = start(); !started) {
    seen_.start_error = started.error().message;
    phase_ = Phase::killing;
    kill_at_ = now();
    reap();
    look_at_time();
  }
  while (phase_ != Phase::closed) turn();
  end();
  task_.lock.close();
}

void TaskRun::watch_limits() {
  measure_at_ = now() + measure_pause(enclosure_.must_watch_memory(), Duration{0});
  if (task_.launch.limits.memory.value > 0 && !enclosure_.must_watch_memory()) oom_check_at_ = now() + oom_check_every;
}

void TaskRun::turn() {
  Watch watch;
  watch.add(signals_.get(), POLLIN, [this] {
    signalfd_siginfo info{};
    while (::read(signals_.get(), &info, sizeof(info)) > 0) {
    }
  });
  agent_.watch(watch, agent_calls_);
  tasks_.watch(watch, task_calls_);
  forks_.watch(watch, forks_changed_);
  if (forked_) watch.add(forked_.fd(), POLLIN, [this] { hear_forked(); });
  if (forked_ && running_ && leader_ != 0 && reported_by_ == TimePoint::max()) {
    watch.add(enclosure_.forked_process(), POLLIN, [this] { reported_by_ = now() + report_wait; });
  }
  execs_.watch(watch);
  input_.watch(watch);
  capture_->watch(watch);
  if (fault_) watch.add(fault_.get(), POLLIN, [this] { look_at_fault(); });
  watch.wait_until(next_time());
  reap();
  execs_.tick();
  look_at_time();
  send_news();
}

void TaskRun::look_for_agents() {
  const auto opened = agent_.open();
  if (!opened) log_.error("no agent can connect for now: " + opened.error().message);
  listen_at_ = opened ? TimePoint::max() : now() + listen_retry_after;
}

void TaskRun::look_at_fault() {
  seen_.start_error += read_fault(fault_);
  if (fault_ || !seen_.start_error.empty() || leader_ == 0) return;
  running_ = true;
  news_ = true;
  enclosure_.leader_runs(leader_);
}

void TaskRun::leader_ended(int wait_status) {
  leader_ = 0;
  seen_.wait_status = wait_status;
  if (phase_ == Phase::running) phase_ = Phase::killing, kill_at_ = now();
}

void TaskRun::reap() {
  for (;;) {
    int wait_status = 0;
    const pid_t pid = ::waitpid(-1, &wait_status, WNOHANG);
    if (pid == 0 || (pid < 0 && errno == EINTR)) return;
    if (pid < 0) break;
    if (pid == leader_) {
      look_at_fault();
      leader_ended(wait_status);
    } else {
      execs_.reaped(pid, wait_status);
    }
  }
  if (phase_ != Phase::killing || forked_) return;  // nothing is left of the tree
  phase_ = Phase::closing;
  closing_since_ = now();
  kill_at_ = TimePoint::max();
  if (capture_) capture_->drain();
}

void TaskRun::condemn(Verdict verdict) {
  if (phase_ != Phase::running) return;
  seen_.verdict = verdict;
  phase_ = Phase::killing;
  kill_at_ = now();
}

void TaskRun::look_at_time() {
  const TimePoint at = now();
  if (at >= listen_at_) look_for_agents();
  if (const Duration away = loop::suspended() - suspended_; away > milliseconds(10)) {
    suspended_ += away;
    life_.was_suspended(away);
    if (reported_by_ != TimePoint::max()) reported_by_ += away;
  }
  if (at >= reported_by_) {
    const bool is_stopped = enclosure_.is_report_stopped();  // it may just be slow
    reported_by_ = is_stopped ? TimePoint::max() : at + report_wait;
    if (is_stopped && leader_ != 0) leader_ended(SIGKILL);
  }
  if (at >= forked_by_) not_forked("the template did not answer in time");
  if (phase_ == Phase::running) {
    if (const auto verdict = life_.verdict(at)) forks_.live() > 0 ? forks_.close() : condemn(*verdict);
    if (at >= termination_.next() && leader_ != 0) {
      termination_.look(
          leader_, [this] { enclosure_.terminate(leader_); }, at);
    }
    if (at >= measure_at_) measure(at);
    if (at >= oom_check_at_) {
      oom_check_at_ = at + oom_check_every;
      if (enclosure_.oom_kills() > 0) condemn(Verdict::greedy);
    }
  }
  if (phase_ == Phase::killing && at >= kill_at_ && forks_.live() == 0) kill_tree();
  if (!capture_) {
    if (phase_ == Phase::closing) phase_ = Phase::closed;
    return;
  }
  capture_->tick(at);
  if (phase_ == Phase::closing) look_at_output(at);
}

/// A disk that is full must not keep a task from ending: what cannot be written is counted instead.
void TaskRun::look_at_output(TimePoint at) {
  const Duration patience = life_.stopping() ? output_wait_stopped : output_wait_most;
  const bool given_up = at >= closing_since_ + patience || life_.verdict(at) == Verdict::abandoned;
  if (!capture_->is_written() && !given_up) return;
  output_lost_ = capture_->give_up();
  if (output_lost_ > 0) log_.error(std::to_string(output_lost_) + " bytes of output are lost: they cannot be written");
  phase_ = Phase::closed;
}

void TaskRun::measure(TimePoint at) {
  const cluster::Usage& usage = enclosure_.measure();
  measure_at_ = now() + measure_pause(enclosure_.must_watch_memory(), now() - at);
  if (enclosure_.must_watch_memory() && usage.memory > task_.launch.limits.memory) condemn(Verdict::greedy);
}

void TaskRun::kill_tree() {
  kill_pause_ = std::min(kill_pause_ * 2 + milliseconds(1), kill_pause_most);
  kill_at_ = now() + kill_pause_;
  if (forked_) {
    forked_by_ = std::min(forked_by_, now() + (running_ ? fork_wait : fork_wait_killed));
    forked_.kill();
  }
  if (enclosure_.kill() != Left::untouchable || forked_) return;
  log_.warning("processes of other users remain, which cannot be killed");
  ::chmod("work", 0500);  // so that no other task is put into it
  phase_ = Phase::closing;
  closing_since_ = now();
  if (capture_) capture_->drain();
}

TimePoint TaskRun::next_time() const {
  TimePoint next = std::min({forked_by_, reported_by_, listen_at_, capture_->next()});
  if (forks_.live() == 0) {  // a template outlives what it was forked into
    next = std::min(next, phase_ == Phase::killing ? kill_at_ : life_.next());
  }
  if (phase_ == Phase::running) next = std::min({next, measure_at_, oom_check_at_, termination_.next()});
  if (agent_.ready()) {
    const bool grown = capture_->end() != told_output_end_;
    next = std::min(next, told_at_ + (grown ? output_news_every : status_every));
  }
  return next;
}

Status TaskRun::status() const {
  return {.pid = running_ ? leader_ : 0,
          .output_end = capture_ ? capture_->end() : 0,
          .attached = tasks_.ever_attached(),
          .ready = tasks_.has_ready() || forks_.ready(),
          .stopping = life_.stopping(),
          .isolation = enclosure_.in_words(),
          .usage = with_tally(enclosure_.usage()),
          .refused = refused(),
          .ending = ending_};
}

cluster::Usage TaskRun::with_tally(cluster::Usage usage) const {
  usage.calls = tasks_.tally().calls;
  usage.errors = tasks_.tally().errors;
  return usage;
}

void TaskRun::send_news() {
  while (agent_.ready() && !task_.launch.waits()) {  // there is no task yet that could report
    const auto report = tasks_.next_report();
    if (!report) break;
    agent_.send(*report);
  }
  if (!agent_.ready()) return;
  const TimePoint at = now();
  const bool grown = capture_ && capture_->end() != told_output_end_;
  if (!news_ && at < told_at_ + status_every && (!grown || at < told_at_ + output_news_every)) return;
  const Status status = this->status();
  if (status.refused > told_refused_) log_.warning("refused so far: " + std::to_string(status.refused) + " packets");
  agent_.send(status);
  news_ = false;
  told_at_ = at;
  told_output_end_ = status.output_end;
  told_refused_ = status.refused;
}

void TaskRun::end() {
  seen_.grace = life_.stopping() ? life_.grace() : Duration{0};
  seen_.given_up = life_.stopping() && life_.stop_reason() == cluster::lease::Reason::agent_lost;
  seen_.abandon_after = task_.launch.abandon_after;
  seen_.liveness = task_.launch.policy.liveness;
  seen_.memory_limit = task_.launch.limits.memory;
  seen_.oom_kills = enclosure_.oom_kills();
  seen_.usage = with_tally(enclosure_.measure_ended());
  ending_ = judge(seen_);
  ending_->output_end = capture_ ? capture_->end() : 0;
  ending_->output_lost = output_lost_;
  // Whoever is told has it from us; only an ending that nobody is told must survive a power loss by itself.
  const auto durable = agent_.connected() ? loop::Durable::no : loop::Durable::yes;
  const int attempts = agent_.connected() ? ending_attempts : ending_attempts_alone;
  for (int attempt = 0; attempt < attempts; ++attempt) {
    const auto written = ending_file_.write(*ending_, durable);
    if (written) break;
    log_.error(written.error().message);
    Watch().wait_until(now() + ending_wait);
  }
  execs_.tick();
  agent_.send(status());
  for (const TimePoint until = now() + last_words_most; agent_.connected() && !agent_.ready() && now() < until;) {
    Watch watch;
    agent_.watch(watch, agent_calls_);
    watch.wait_until(until);
  }
  for (const char* name : {"agent.sock", "task.sock", "fork.sock"}) ::unlink(name);
  enclosure_.remove();
}

void TaskRun::take(const FromAgent& message) {
  std::visit(overloaded{[this](const Stop& request) { stop(request); },
                        [this](const Permit& permit) { life_.permit(TimePoint(permit.until)); },
                        [this](const OutputStored& stored) { capture_->stored(stored.end); },
                        [this](const ReportAnswer& answer) { tasks_.answer(answer); },
                        [this](const Exec& request) { run_beside(request); },
                        [this](const ExecCancel& request) { execs_.cancel(request.number); },
                        [this](const cluster::supervision::ExecInput& input) {
                          const auto taken = input.number == 0 ? input_.take(input) : execs_.input(input);
                          if (!input.only_acknowledges()) agent_.send(taken);
                        },
                        [this](const Adopt& request) { adopt(request.launch); }},
             message);
}

StopNotice TaskRun::stop_notice() const {
  return {life_.stop_reason(), life_.grace_left(now()), std::chrono::steady_clock::now().time_since_epoch()};
}

void TaskRun::stop(const Stop& request) {
  if (!life_.stop(request.why, request.grace, now())) return;
  news_ = true;
  forks_.close();
  if (life_.grace_left(now()) == Duration{0}) return;  // it will be killed at once: there is nothing to say
  const std::size_t told = tasks_.notify(stop_notice());
  if (told > 0 || terminated_ || leader_ == 0) return;
  terminated_ = true;
  termination_.begin(now());
}

}  // namespace cadre::supervisor
