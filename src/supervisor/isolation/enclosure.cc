#include "supervisor/isolation/enclosure.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <utility>

#include "supervisor/isolation/cgroup_parent.h"

namespace cadre::supervisor {

using cluster::Usage;
using cluster::supervision::Launch;

namespace {

constexpr int gentle_kills = 10;  // after these, what has left its group is looked for, too
constexpr int init_kills = 6;     // after these, the init of a forked process does not end by itself
/// Of one that is forked: the first process of its pid namespace and the one that waits for it count as well.
constexpr int own_processes = 2;
constexpr int processes_least = 4096;

/// So many processes and threads may one user have here: others must be able to start some, too.
int processes_of_a_user() {
  static const int most = [] {
    const auto text = read_file("/proc/sys/kernel/pid_max");
    const int share = std::max(text ? std::atoi(text->c_str()) / 4 : 0, processes_least);
    rlimit limit{};
    const bool is_limited = ::getrlimit(RLIMIT_NPROC, &limit) == 0 && limit.rlim_max != RLIM_INFINITY;
    return is_limited ? static_cast<int>(std::min<rlim_t>(share, limit.rlim_max / 2)) : share;
  }();
  return most;
}

/// The memory that the files of a tmpfs take, whether a process has them mapped or not.
ByteSize used_by_files(const Descriptor& tmpfs) {
  struct statvfs facts {};
  if (!tmpfs || ::fstatvfs(tmpfs.get(), &facts) != 0) return ByteSize{0};
  return ByteSize{static_cast<std::int64_t>((facts.f_blocks - facts.f_bfree) * facts.f_frsize)};
}

/// Whether it got there.
bool signal(int process, int number) { return ::syscall(SYS_pidfd_send_signal, process, number, nullptr, 0) == 0; }

/// Whether it is not the one that this process is in.
bool is_another(const Descriptor& space, const std::string& kind) {
  struct stat theirs {};
  struct stat ours {};
  return space && ::fstat(space.get(), &theirs) == 0 && ::stat(("/proc/self/ns/" + kind).c_str(), &ours) == 0 &&
         theirs.st_ino != ours.st_ino;
}

enum class Which : std::uint8_t { all, stopped };

/// Calls `act` with a descriptor of each living process whose namespace of this kind is `space`.
template <class Act>
void for_each_in(const Descriptor& space, const std::string& kind, Which which, Act act) {
  struct stat wanted {};
  if (!space || ::fstat(space.get(), &wanted) != 0) return;
  for (const Process& process : all_processes()) {
    const bool is_meant = which == Which::stopped ? process.state == 'T' : process.state != 'Z';
    if (!is_meant || process.pid == ::getpid()) continue;
    const Descriptor held(static_cast<int>(::syscall(SYS_pidfd_open, process.pid, 0)));
    struct stat found {};
    const std::string path = "/proc/" + std::to_string(process.pid) + "/ns/" + kind;
    if (!held || ::stat(path.c_str(), &found) != 0) continue;
    if (found.st_ino == wanted.st_ino && found.st_dev == wanted.st_dev) act(held.get());
  }
}

void kill_in(const Descriptor& space, const std::string& kind, Which which) {
  for_each_in(space, kind, which, [](int process) { signal(process, SIGKILL); });
}

}  // namespace

Result<void> Enclosure::make(const Launch& launch, const IsolationFeatures& features) {
  const bool stays_who_it_is = !launch.confinement.user;
  walled_ = launch.policy.isolation == cluster::Isolation::on;
  plain_view_ = !walled_ && !stays_who_it_is;  // another user could not reach its folder
  if (walled_) features_ = features;
  // Limits hold, and all of its processes are found, whatever it may see.
  auto purpose = features_.pid_namespace ? Cgroup::Purpose::limits : Cgroup::Purpose::limits_and_killing;
  if (launch.waits()) purpose = Cgroup::Purpose::limits_to_come;
  group_ = Cgroup::make(launch.cgroup, cgroup_name(launch.home()), launch.limits, purpose);
  note_limits(launch);
  processes_max_ = processes_max(launch);
  if (!features_.mount_namespace && !launch.confinement.mounts.empty()) {
    return fail(Errc::unavailable, launch.policy.isolation == cluster::Isolation::on
                                       ? "mounts need a mount namespace, which this agent cannot make"
                                       : "mounts need isolation, which is off for this task");
  }
  put_in_words(launch);
  return {};
}

Result<void> Enclosure::separate(const Launch& launch, int users) {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  const bool stays_who_it_is = !launch.confinement.user;
  if (features_.mount_namespace && !launch.confinement.shown_private.empty() && !stays_who_it_is) {
    TRY_ASSIGN(map, make_id_map(*launch.confinement.user));
    id_map_ = std::move(map);
  }
  if (features_.user_namespace) TRY(enter_user_namespace());
  const bool stays_root = stays_who_it_is && ::geteuid() == 0;  // with rights that are worth nothing elsewhere
  if (features_.mount_namespace && !stays_root) {
    if (users < 0) {
      TRY_ASSIGN(own, make_users());
      own_users_ = std::move(own);
    }
    users_ = own_users_ ? own_users_.get() : users;
  }
  if (features_.pid_namespace) {
    if (::unshare(CLONE_NEWPID) != 0) return system_failure("cannot make a pid namespace");
    TRY_ASSIGN(init, spawn_init());
    init_ = init;
  }
  return {};
}

void Enclosure::adopt(const Launch& launch) {
  group_.limit(launch.limits);
  if (const auto most = processes_max(launch); most && most != processes_max_) {
    processes_max_ = most;
    const rlimit limit{static_cast<rlim_t>(*most), static_cast<rlim_t>(*most)};
    if (forked_process_ && signal(forked_process_.get(), 0)) ::prlimit(forked_, RLIMIT_NPROC, &limit, nullptr);
    for (const Process& process : descendants(::getpid())) {
      if (process.pid != init_) ::prlimit(process.pid, RLIMIT_NPROC, &limit, nullptr);
    }
  }
  note_limits(launch);
  put_in_words(launch);
}

void Enclosure::note_limits(const Launch& launch) {
  memory_limit_ = launch.limits.memory;
  must_watch_memory_ = launch.limits.memory.value > 0 && !group_.holds("memory");
}

std::optional<int> Enclosure::processes_max(const Launch& launch) const {
  if (!walled_) return std::nullopt;
  if (launch.limits.processes == 0 || group_.holds("pids") || !features_.user_namespace) return processes_of_a_user();
  return launch.limits.processes + (launch.forked_from.empty() ? 0 : own_processes);
}

void Enclosure::put_in_words(const Launch& launch) {
  words_ = {"a session of its own"};
  if (const auto& user = launch.confinement.user) {
    words_.push_back("unix user " + std::to_string(user->uid) + (user->name.empty() ? "" : " (" + user->name + ")"));
  }
  if (features_.user_namespace) words_.emplace_back("a user namespace");
  if (features_.mount_namespace)
    words_.emplace_back("a mount namespace: system read-only, private /tmp, others hidden");
  if (features_.pid_namespace) words_.emplace_back("a pid namespace");
  if (std::string words = group_.in_words(); !words.empty()) words_.push_back(std::move(words));
  if (must_watch_memory_) words_.emplace_back("memory is monitored by its supervisor");
  if (launch.limits.cpus.milli > 0 && !group_.holds("cpu")) words_.emplace_back("cpus are not limited");
  if (launch.limits.processes > 0 && !group_.holds("pids")) {
    words_.emplace_back(features_.user_namespace ? "processes are limited by the user namespace"
                                                 : "processes are not limited");
  }
}

Program Enclosure::around_leader(const Launch& launch, const std::string& folder) const {
  Program program = around_other(launch);
  program.mount_namespace = program.ipc_namespace = -1;
  program.joins_view = program.joins_ipc = false;
  program.rights.nests = launch.is_template;
  if (has_view()) {
    program.view = View{plain_view_ ? View::Kind::plain : View::Kind::walled,
                        folder,
                        launch.confinement,
                        features_.pid_namespace,
                        id_map_.get(),
                        launch.limits.memory};
  }
  return program;
}

Program Enclosure::around_other(const Launch& launch) const {
  Program program;
  program.group = &group_;
  program.users = users_;
  program.joins_view = has_view();
  program.joins_ipc = features_.mount_namespace;
  program.mount_namespace = mount_namespace_.get();
  program.ipc_namespace = ipc_namespace_.get();
  program.rights = {launch.confinement.user, walled_, false};
  program.dies_with_us = init_ == 0 && forked_ == 0;
  program.processes_max = processes_max(launch);
  return program;
}

void Enclosure::leader_runs(pid_t leader) {
  const std::string about = "/proc/" + std::to_string(leader);
  if (has_view()) mount_namespace_ = Descriptor(::open((about + "/ns/mnt").c_str(), O_RDONLY | O_CLOEXEC));
  if (features_.mount_namespace) {
    ipc_namespace_ = Descriptor(::open((about + "/ns/ipc").c_str(), O_RDONLY | O_CLOEXEC));
  }
  if (features_.mount_namespace) shm_ = Descriptor(::open((about + "/root/dev/shm").c_str(), O_PATH | O_CLOEXEC));
  if (features_.pid_namespace) proc_ = Descriptor(::open((about + "/root/proc").c_str(), O_PATH | O_CLOEXEC));
}

Result<void> Enclosure::forked_runs(pid_t leader) {
  forked_process_ = Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, leader, 0)));
  leader_runs(leader);
  const std::string about = "/proc/" + std::to_string(leader) + "/ns/";
  forked_users_ = Descriptor(::open((about + "user").c_str(), O_RDONLY | O_CLOEXEC));
  forked_processes_ = Descriptor(::open((about + "pid_for_children").c_str(), O_RDONLY | O_CLOEXEC));
  // As long as it lives, what was opened by its number is its own.
  const bool is_there = forked_process_ && signal(forked_process_.get(), 0);
  const bool is_apart = is_another(mount_namespace_, "mnt") && is_another(ipc_namespace_, "ipc") &&
                        is_another(forked_users_, "user") && is_another(forked_processes_, "pid_for_children");
  if (!is_there || !is_apart) {
    for (Descriptor* one : {&mount_namespace_, &ipc_namespace_, &shm_, &proc_, &forked_process_}) one->close();
    return fail(Errc::unavailable,
                is_there ? "its forked processes are not in their own namespaces" : "its forked process has ended");
  }
  forked_ = leader;
  return {};
}

void Enclosure::terminate(pid_t leader) const {
  forked_process_ ? static_cast<void>(signal(forked_process_.get(), SIGTERM))
                  : static_cast<void>(::kill(leader, SIGTERM));
}

void Enclosure::forked_used(ByteSize memory_most, Duration cpu_time) {
  constexpr Duration cpu_time_max = std::chrono::hours(24 * 365);  // it is told by processes of the task's user
  forked_memory_ = std::max(memory_most, ByteSize{0});
  forked_cpu_time_ = std::clamp(cpu_time, Duration{0}, cpu_time_max);
}

Result<void> Enclosure::join_forked() {
  if (forked_ == 0 || joined_) return {};
  const bool entered = (!features_.user_namespace || ::setns(forked_users_.get(), CLONE_NEWUSER) == 0) &&
                       ::setns(forked_processes_.get(), CLONE_NEWPID) == 0;
  if (!entered) return system_failure("cannot enter the namespaces of the task");
  joined_ = true;
  return {};
}

void Enclosure::look_at_processes(Usage& usage) const {
  const std::string proc = proc_ ? "/proc/self/fd/" + std::to_string(proc_.get()) : "/proc";
  std::vector<Process> tree = proc_ ? all_processes(proc) : descendants(::getpid());
  std::erase_if(tree, [init = proc_ ? 1 : init_](const Process& process) { return process.pid == init; });
  rusage reaped{};
  ::getrusage(RUSAGE_CHILDREN, &reaped);
  Duration cpu_time = to_duration(reaped.ru_utime) + to_duration(reaped.ru_stime);
  usage.memory = ByteSize{0};
  usage.processes = 0;
  for (const Process& process : tree) {
    usage.memory += process.memory;
    if (process.state != 'Z') ++usage.processes;
    cpu_time += process.cpu_time + process.cpu_time_reaped;
  }
  usage.cpu_time = std::max(usage.cpu_time, cpu_time);
  if (!must_watch_memory_) return;
  const ByteSize files = used_by_files(shm_);
  usage.memory += files;
  if (usage.memory <= memory_limit_) return;
  MemoryShare sum;  // what several share was counted several times: before that kills anybody, count exactly
  for (const Process& process : tree) {
    const MemoryShare share = memory_share(proc, process.pid).value_or(MemoryShare{process.memory, ByteSize{0}});
    sum.all += share.all;
    sum.shared += share.shared;
  }
  usage.memory = sum.all - sum.shared + std::max(sum.shared, files);
}

const Usage& Enclosure::measure() {
  const GroupUse use = group_.use();
  if (!use.memory || !use.cpu_time || !use.processes) look_at_processes(usage_);
  usage_.memory = use.memory.value_or(usage_.memory);
  usage_.memory_most = use.memory_most.value_or(std::max(usage_.memory_most, usage_.memory));
  usage_.cpu_time = use.cpu_time.value_or(usage_.cpu_time);
  usage_.processes = use.processes.value_or(usage_.processes);
  return usage_;
}

const Usage& Enclosure::measure_ended() {
  const GroupUse use = group_.use();
  rusage reaped{};
  ::getrusage(RUSAGE_CHILDREN, &reaped);
  const ByteSize largest = std::max(ByteSize{std::int64_t{reaped.ru_maxrss} * 1024}, forked_memory_);
  const Duration cpu_time = to_duration(reaped.ru_utime) + to_duration(reaped.ru_stime) + forked_cpu_time_;
  usage_.memory_most = use.memory_most.value_or(std::max(usage_.memory_most, largest));
  usage_.cpu_time = std::max(usage_.cpu_time, use.cpu_time.value_or(cpu_time));
  usage_.memory = ByteSize{0};
  usage_.processes = 0;
  return usage_;
}

/// Of one that was forked, init and the process that reports the ending end by themselves, unless they are stopped.
/// Init then does not end before the latter, its parent, has waited for the others.
void Enclosure::kill_forked_tree() const {
  kill_in(forked_processes_, "pid", Which::all);
  kill_in(forked_processes_, "pid_for_children", Which::stopped);
}

bool Enclosure::is_report_stopped() const {
  bool is_stopped = false;
  for_each_in(forked_processes_, "pid_for_children", Which::stopped, [&](int) { is_stopped = true; });
  return is_stopped;
}

Left Enclosure::kill() {
  ++kills_;
  if (forked_process_) static_cast<void>(signal(forked_process_.get(), SIGKILL));
  if (forked_process_ && kills_ > init_kills) kill_forked_tree();
  if (init_ != 0) {
    ::kill(init_, SIGKILL);
    return Left::some;
  }
  if (group_.can_kill()) {
    group_.kill();
    if (kills_ <= gentle_kills) return Left::some;
  }
  return kill_descendants();
}

}  // namespace cadre::supervisor
