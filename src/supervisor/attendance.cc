#include "supervisor/attendance.h"

#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <iterator>
#include <utility>

#include "base/overloaded.h"
#include "describe/describe.h"
#include "supervisor/clock.h"
#include "supervisor/environment.h"
#include "supervisor/messages.h"
#include "supervisor/mounts.h"
#include "supervisor/view.h"

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
constexpr Duration fork_wait = seconds(10);        // for a template that is busy
constexpr Duration fork_wait_killed = seconds(1);  // the same when nobody wants the process any more

/// How often use is measured: rarely enough to cost little, whatever a look costs here.
Duration measure_pause(bool is_limit, Duration cost) {
  return is_limit ? std::max<Duration>(milliseconds(100), cost * 10) : std::max<Duration>(seconds(1), cost * 100);
}

Result<void> give_to(const UnixUser& user, const char* path) {
  if (::lchown(path, static_cast<uid_t>(user.uid), static_cast<gid_t>(user.gid)) == 0) return {};
  return system_failure(path);
}

/// Makes what the task may write its own, once: from then on the user may replace what is in there, while this process
/// may do all.
Result<void> hand_over_folders(const std::optional<UnixUser>& user) {
  for (const char* folder : {"work", "tmp"}) {
    ::mkdir(folder, 0700);
    struct stat facts {};
    if (!user || (::lstat(folder, &facts) == 0 && facts.st_uid == static_cast<uid_t>(user->uid))) continue;
    std::error_code error;
    for (auto at = std::filesystem::recursive_directory_iterator(folder, error); at != std::filesystem::end(at);
         at.increment(error)) {
      TRY(give_to(*user, at->path().c_str()));
    }
    if (error) return fail(Errc::unavailable, std::string(folder) + ": " + error.message());
    if (::chmod(folder, 0700) != 0) return system_failure(folder);
    TRY(give_to(*user, folder));
  }
  return user ? give_to(*user, "task.sock") : Result<void>();
}

Life life_of(const Launch& launch) {
  Life life({launch.abandon_after, launch.manners.liveness}, now());
  if (launch.permit_until) life.permit(TimePoint(*launch.permit_until));
  return life;
}

}  // namespace

Attendance::Attendance(Task task, Descriptor agent, Log& log)
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
                   return StopNotice{life_.stop_reason(), life_.grace_left(now())};
                 },
                 .ready = [this]() -> std::optional<Begin> {
                   news_ = true;
                   if (task_.launch.waits()) return std::nullopt;
                   return begin_;
                 }};
  forks_changed_ = [this] { news_ = true; };
}

void Attendance::run() {
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

Result<void> Attendance::start() {
  sigset_t awaited;
  ::sigemptyset(&awaited);
  ::sigaddset(&awaited, SIGCHLD);
  signals_ = Descriptor(::signalfd(-1, &awaited, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals_) return system_failure("signalfd");
  if (!agent_.connected()) look_for_agents();
  const auto reserved = ending_file_.reserve();
  seen_.disk_full = !reserved && loop::is_disk_full(reserved.error());
  TRY(reserved);
  TRY(tasks_.open());
  TRY_ASSIGN(capture, Capture::open("output", task_.launch.limits));
  capture_ = std::move(capture);
  TRY(hand_over_folders(task_.launch.confinement.user));
  TRY(enclosure_.make(task_.launch, task_.means));
  if (task_.launch.is_template) TRY(forks_.open());
  if (task_.launch.forked_from.empty()) {
    TRY(start_program());
  } else if (const auto asked = start_forked(); !asked) {
    not_forked(asked.error().message);
  }
  watch_limits();
  return {};
}

Result<void> Attendance::start_forked() {
  TRY(socket_path_.make(seen_folder(), enclosure_.has_private_tmp()));
  TRY_ASSIGN(program, program_of(task_.launch.command.argv, std::nullopt, Program{}));
  Birth birth;
  birth.from = seen_folder();
  TRY_ASSIGN(variables, environment_of(task_.launch, places()));
  birth.request = {
      std::move(variables), program.folder, places().runtime, 0, {}, enclosure_.processes_max().value_or(0)};
  birth.group = &enclosure_.group();
  for (const std::string folder : {"/tmp", "/var/tmp"}) {
    if (::access(folder.c_str(), F_OK) == 0) birth.shown.emplace_back("tmp", folder);
    if (!seen_folder().starts_with(folder + "/")) continue;
    const std::string hidden = seen_folder().substr(folder.size());
    make_point_beneath("tmp", hidden + "/work", true);
    make_point_beneath("tmp", hidden + "/task.sock", false);
  }
  birth.shown.insert(birth.shown.end(),
                     {{"work", seen_folder() + "/work"}, {"task.sock", seen_folder() + "/task.sock"}});
  birth.means = task_.means;
  TRY_ASSIGN(asked, ForkLine::ask(std::move(birth)));
  forked_ = std::move(asked.line);
  forked_by_ = now() + fork_wait;
  capture_->follow(std::move(asked.out), std::move(asked.err));
  return {};
}

Result<void> Attendance::start_program() {
  TRY(enclosure_.separate(task_.launch, task_.users));
  TRY(socket_path_.make(seen_folder(), enclosure_.has_private_tmp()));
  const cluster::Command& command = task_.launch.command;
  TRY_ASSIGN(program, program_of(command.argv, command.terminal, enclosure_.around_leader(task_.launch, task_.folder)));
  program.input = command.input;
  program.kept = forks_.given();
  TRY_ASSIGN(started, spawn(program));
  forks_.was_given();
  leader_ = started.pid;
  fault_ = std::move(started.fault);
  if (started.in) input_.open(std::move(started.in), command.terminal ? Input::Into::terminal : Input::Into::pipe);
  capture_->follow(std::move(started.out), std::move(started.err), command.terminal ? Lines::as_written : Lines::whole);
  return {};
}

void Attendance::watch_limits() {
  measure_at_ = now() + measure_pause(enclosure_.must_watch_memory(), Duration{0});
  if (task_.launch.limits.memory.value > 0 && !enclosure_.must_watch_memory()) oom_check_at_ = now() + oom_check_every;
}

const std::string& Attendance::seen_folder() const {
  return task_.launch.forked_from.empty() ? task_.folder : task_.launch.forked_from;
}

Places Attendance::places() const {
  return {enclosure_.has_private_tmp() ? "/tmp" : task_.folder + "/tmp", socket_path_.path(), seen_folder() + "/work",
          enclosure_.has_private_tmp() ? runtime_folder(task_.launch.confinement) : ""};
}

Result<Program> Attendance::program_of(std::vector<std::string> argv, const std::optional<cluster::Terminal>& terminal,
                                       Program around) const {
  TRY_ASSIGN(variables, environment_of(task_.launch, places()));
  if (terminal) variables["TERM"] = terminal->type;
  if (forks_.given() >= 0) variables["CADRE_FORKS"] = std::to_string(forks_.given());
  const std::vector<std::string> pythons = alternatives(task_.launch.command.python);
  const auto chosen = std::find(pythons.begin(), pythons.end(), argv.front());
  if (chosen != pythons.end()) around.otherwise.assign(std::next(chosen), pythons.end());
  around.argv = std::move(argv);
  around.terminal = terminal;
  around.environment = assignments(variables);
  const std::string& folder = task_.launch.command.folder;
  around.folder = folder.starts_with('/') ? folder : seen_folder() + "/work" + (folder.empty() ? "" : "/" + folder);
  return around;
}

void Attendance::turn() {
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

void Attendance::look_for_agents() {
  const auto opened = agent_.open();
  if (!opened) log_.error("no agent can come for now: " + opened.error().message);
  listen_at_ = opened ? TimePoint::max() : now() + listen_retry_after;
}

void Attendance::look_at_fault() {
  seen_.start_error += read_fault(fault_);
  if (fault_ || !seen_.start_error.empty() || leader_ == 0) return;
  running_ = true;
  news_ = true;
  enclosure_.leader_runs(leader_);
}

// Code of the task's user may have run in the template: what it says is believed of that user's own processes only.
void Attendance::hear_forked() {
  for (int packets = 0; forked_ && packets < packets_at_once; ++packets) {
    const std::optional<ForkLine::Heard> heard = forked_.receive();
    if (!heard) return;
    std::visit(overloaded{[&](const fork_talk::Running&) {
                            if (heard->sender <= 0) return not_forked("the template does not say which process it is");
                            if (running_) return;
                            const auto seen = enclosure_.forked_runs(heard->sender);
                            if (!seen) return not_forked(seen.error().message);
                            running_ = true;
                            leader_ = heard->sender;
                            forked_by_ = TimePoint::max();
                            news_ = true;
                          },
                          [&](const fork_talk::Refused& refused) {
                            if (!running_) not_forked(refused.why);
                          },
                          [&](const fork_talk::Ended& ended) {
                            enclosure_.forked_used(ended.memory_most, ended.cpu_time);
                            leader_ended(ended.wait_status);
                          },
                          [&](const fork_talk::Gone&) {
                            if (!running_) return not_forked("the template has ended");
                            forked_.close();
                            if (leader_ != 0) leader_ended(SIGKILL);  // with the template
                          }},
               heard->message);
  }
}

void Attendance::not_forked(const std::string& why) {
  forked_.close();
  forked_by_ = TimePoint::max();
  if (phase_ != Phase::running) {
    if (running_) {
      log_.warning("what was forked from a template does not end; it ends with that: " + why);
      agent_.send(NotForked{task_.launch.forked_from, "what it forks does not end"});
      ::chmod("work", 0500);  // so that no other task is put into it
    }
    if (!running_ || leader_ != 0) leader_ended(SIGKILL);  // it was killed, perhaps before it began
    return;
  }
  log_.warning("it is not forked from a template: " + why);
  agent_.send(NotForked{std::exchange(task_.launch.forked_from, ""), why});
  ::unlink("tmp/.cadre.sock");
  if (const auto started = start_program(); !started) {
    seen_.start_error = started.error().message;
    phase_ = Phase::killing;
    kill_at_ = now();
  }
}

void Attendance::leader_ended(int wait_status) {
  leader_ = 0;
  seen_.wait_status = wait_status;
  if (phase_ == Phase::running) phase_ = Phase::killing, kill_at_ = now();
}

void Attendance::reap() {
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

void Attendance::condemn(Verdict verdict) {
  if (phase_ != Phase::running) return;
  seen_.verdict = verdict;
  phase_ = Phase::killing;
  kill_at_ = now();
}

void Attendance::look_at_time() {
  const TimePoint at = now();
  if (at >= listen_at_) look_for_agents();
  if (const Duration away = loop::suspended() - suspended_; away > milliseconds(10)) {
    suspended_ += away;
    life_.was_suspended(away);
  }
  if (at >= forked_by_) not_forked("the template did not answer in time");
  if (phase_ == Phase::running) {
    if (const auto verdict = life_.verdict(at)) forks_.live() > 0 ? forks_.close() : condemn(*verdict);
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
void Attendance::look_at_output(TimePoint at) {
  const Duration patience = life_.stopping() ? output_wait_stopped : output_wait_most;
  const bool given_up = at >= closing_since_ + patience || life_.verdict(at) == Verdict::abandoned;
  if (!capture_->is_written() && !given_up) return;
  output_lost_ = capture_->give_up();
  if (output_lost_ > 0) log_.error(std::to_string(output_lost_) + " bytes of output are lost: they cannot be written");
  phase_ = Phase::closed;
}

void Attendance::measure(TimePoint at) {
  const cluster::Usage& usage = enclosure_.measure();
  measure_at_ = now() + measure_pause(enclosure_.must_watch_memory(), now() - at);
  if (enclosure_.must_watch_memory() && usage.memory > task_.launch.limits.memory) condemn(Verdict::greedy);
}

void Attendance::kill_tree() {
  kill_pause_ = std::min(kill_pause_ * 2 + milliseconds(1), kill_pause_most);
  kill_at_ = now() + kill_pause_;
  if (forked_) {
    forked_by_ = std::min(forked_by_, now() + (running_ ? fork_wait : fork_wait_killed));
    forked_.kill();
  }
  if (enclosure_.kill() != Left::untouchable || forked_) return;
  log_.warning("processes of other users are left, which may not be killed");
  ::chmod("work", 0500);  // so that no other task is put into it
  phase_ = Phase::closing;
  closing_since_ = now();
  if (capture_) capture_->drain();
}

TimePoint Attendance::next_time() const {
  TimePoint next = std::min({forked_by_, listen_at_, capture_->next()});
  if (forks_.live() == 0) {  // a template outlives what it was forked into
    next = std::min(next, phase_ == Phase::killing ? kill_at_ : life_.next());
  }
  if (phase_ == Phase::running) next = std::min({next, measure_at_, oom_check_at_});
  if (agent_.ready()) {
    const bool grown = capture_->end() != told_output_end_;
    next = std::min(next, told_at_ + (grown ? output_news_every : status_every));
  }
  return next;
}

Status Attendance::status() const {
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

cluster::Usage Attendance::with_tally(cluster::Usage usage) const {
  usage.calls = tasks_.tally().calls;
  usage.errors = tasks_.tally().errors;
  return usage;
}

void Attendance::send_news() {
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

void Attendance::end() {
  seen_.grace = life_.stopping() ? life_.grace() : Duration{0};
  seen_.given_up = life_.stopping() && life_.stop_reason() == cluster::lease::Reason::agent_lost;
  seen_.abandon_after = task_.launch.abandon_after;
  seen_.liveness = task_.launch.manners.liveness;
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

void Attendance::take(const FromAgent& message) {
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

void Attendance::stop(const Stop& request) {
  if (!life_.stop(request.why, request.grace, now())) return;
  news_ = true;
  forks_.close();
  if (life_.grace_left(now()) == Duration{0}) return;  // it will be killed at once: there is nothing to say
  const std::size_t told = tasks_.notify({life_.stop_reason(), life_.grace_left(now())});
  if (told > 0 || terminated_ || leader_ == 0) return;
  terminated_ = true;
  enclosure_.terminate(leader_);
}

void Attendance::adopt(const Launch& launch) {
  if (!task_.launch.waits()) return log_.error("it was to be adopted, but it has a task already");
  if (const auto become = this->become(launch); !become) {
    log_.warning("it cannot be adopted: " + become.error().message);
    condemn(Verdict::abandoned);
  }
}

Result<void> Attendance::become(Launch launch) {
  if (phase_ != Phase::running || !tasks_.has_ready()) return fail(Errc::conflict, "it is not ready");
  launch.waited_as = task_.launch.waited_as;
  launch.forked_from = task_.launch.forked_from;
  TRY_ASSIGN(had, environment_of(task_.launch, places()));
  TRY_ASSIGN(variables, environment_of(launch, places()));
  std::erase_if(variables, [&](const auto& one) { return had.contains(one.first) && had[one.first] == one.second; });
  begin_.variables = std::move(variables);
  TRY(write_whole("launch", describe::write_msgpack(launch), loop::Durable::no));  // after a power loss nothing runs
  TRY_ASSIGN(lock, lock_file("launch"));
  task_.lock = std::move(lock);
  task_.launch = std::move(launch);
  enclosure_.adopt(task_.launch);
  capture_->limit(task_.launch.limits);
  life_ = life_of(task_.launch);
  life_.agent_came();
  watch_limits();
  if (tasks_.begin(begin_) == 0) return fail(Errc::unavailable, "it is gone");
  agent_.send(Adopted{});
  news_ = true;
  return {};
}

void Attendance::run_beside(const Exec& request) {
  std::string obstacle = execs_.obstacle(request.number);
  if (phase_ != Phase::running || !running_) obstacle = "the task does not run";
  if (!obstacle.empty()) return agent_.send(ExecEnded{request.number, 127, obstacle});
  if (const auto joined = enclosure_.join_forked(); !joined) {
    return agent_.send(ExecEnded{request.number, 127, joined.error().message});
  }
  auto program = program_of(request.argv, request.terminal, enclosure_.around_other(task_.launch));
  if (program) program->input = request.input;
  execs_.start(request, program ? spawn(*program) : Failure(program.error()));
}

}  // namespace cadre::supervisor
