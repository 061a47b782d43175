// How a task comes to run: as a program of its own, forked from a template, or as a process that has waited for it.
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <iterator>
#include <utility>

#include "base/overloaded.h"
#include "describe/describe.h"
#include "supervisor/clock.h"
#include "supervisor/isolation/mounts.h"
#include "supervisor/isolation/view.h"
#include "supervisor/messages.h"
#include "supervisor/task_run.h"

namespace cadre::supervisor {

using namespace cluster::supervision;

namespace {

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

}  // namespace

Result<void> TaskRun::start() {
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
  TRY(enclosure_.make(task_.launch, task_.features));
  if (task_.launch.is_template) TRY(forks_.open());
  if (task_.launch.forked_from.empty()) {
    TRY(start_program());
  } else if (const auto asked = start_forked(); !asked) {
    not_forked(asked.error().message);
  }
  watch_limits();
  return {};
}

Result<void> TaskRun::start_forked() {
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
  birth.features = task_.features;
  TRY_ASSIGN(asked, ForkLine::ask(std::move(birth)));
  forked_ = std::move(asked.line);
  forked_by_ = now() + fork_wait;
  capture_->follow(std::move(asked.out), std::move(asked.err));
  return {};
}

Result<void> TaskRun::start_program() {
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

const std::string& TaskRun::seen_folder() const {
  return task_.launch.forked_from.empty() ? task_.folder : task_.launch.forked_from;
}

Places TaskRun::places() const {
  return {enclosure_.has_private_tmp() ? "/tmp" : task_.folder + "/tmp", socket_path_.path(), seen_folder() + "/work",
          enclosure_.has_private_tmp() ? runtime_folder(task_.launch.confinement) : ""};
}

Result<Program> TaskRun::program_of(std::vector<std::string> argv, const std::optional<cluster::Terminal>& terminal,
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

// Code of the task's user may have run in the template: what it says is believed of that user's own processes only.
void TaskRun::hear_forked() {
  for (int packets = 0; forked_ && packets < packets_at_once; ++packets) {
    const std::optional<ForkLine::Heard> heard = forked_.receive();
    if (!heard) return;
    std::visit(overloaded{[&](const fork_talk::Running&) {
                            if (heard->sender <= 0) return not_forked("the template does not report its process ID");
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

void TaskRun::not_forked(const std::string& why) {
  forked_.close();
  forked_by_ = TimePoint::max();
  if (phase_ != Phase::running) {
    if (running_) {
      log_.warning("a process forked from a template does not end; the template ends with it: " + why);
      agent_.send(NotForked{task_.launch.forked_from, "a process that it forked does not end"});
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

void TaskRun::adopt(const Launch& launch) {
  if (!task_.launch.waits()) return log_.error("it cannot be adopted: it already has a task");
  if (const auto become = this->become(launch); !become) {
    log_.warning("it cannot be adopted: " + become.error().message);
    condemn(Verdict::abandoned);
  }
}

Result<void> TaskRun::become(Launch launch) {
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
  if (tasks_.begin(begin_) == 0) return fail(Errc::unavailable, "it has ended");
  agent_.send(Adopted{});
  news_ = true;
  return {};
}

void TaskRun::run_beside(const Exec& request) {
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
