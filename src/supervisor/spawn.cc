#include "supervisor/spawn.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <sstream>
#include <utility>

#include "supervisor/terminal.h"

namespace cadre::supervisor {

namespace {

/// Back to what a program may expect: the nursery and the supervisor ignore these and block all.
void reset_signals() {
  for (const int signal : {SIGHUP, SIGINT, SIGTERM, SIGPIPE, SIGCHLD}) ::signal(signal, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> list;
  list.reserve(texts.size() + 1);
  for (const std::string& text : texts) list.push_back(const_cast<char*>(text.c_str()));
  list.push_back(nullptr);
  return list;
}

Result<void> die_with(pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) return fail(Errc::unavailable, "the supervisor has ended");
  return {};
}

Result<void> join(int space, int kind) {
  if (space < 0) return fail(Errc::unavailable, "the mount namespace of the task no longer exists");
  if (::setns(space, kind) == 0) return {};
  return system_failure("cannot enter the mount namespace of the task");
}

Result<void> take_place(const Program& program, pid_t supervisor) {
  ::setsid();
  if (program.terminal && ::ioctl(0, TIOCSCTTY, 0) != 0) return system_failure("cannot take a terminal");
  reset_signals();
  be_killed_first();
  // Until it is another program it holds what is the supervisor's: processes of the task must not look into it.
  if (::prctl(PR_SET_DUMPABLE, 0) != 0) return system_failure("cannot protect the new process");
  if (program.group != nullptr) TRY(program.group->enter());
  if (program.processes_max) TRY(limit_processes(*program.processes_max));
  if (program.view) {
    TRY(take_view(*program.view));
    if (program.users >= 0) TRY(lock_view(program.users));
  } else {
    if (program.joins_ipc) TRY(join(program.ipc_namespace, CLONE_NEWIPC));
    if (program.users >= 0) TRY(join(program.users, CLONE_NEWUSER));
    if (program.joins_view) TRY(join(program.mount_namespace, CLONE_NEWNS));
  }
  TRY(limit_descriptors());
  TRY(take_rights(program.rights));
  if (program.dies_with_us) TRY(die_with(supervisor));  // another user would have to ask for it again
  if (::chdir(program.folder.c_str()) != 0) {
    return Failure(system_error("cannot start in the folder '" + program.folder + "'", errno));
  }
  return {};
}

/// Tries a name in every folder of PATH and says why none of them has it. Unlike execvp, which is only asked about
/// paths here, it takes folders that may not be searched for folders that do not have it.
int find_and_run(const std::string& name, char* const* argv) {
  if (name.find('/') != std::string::npos) return ::execvp(name.c_str(), argv), errno;
  const char* list = std::getenv("PATH");
  std::istringstream folders(list == nullptr ? "/usr/bin:/bin" : list);
  int why = ENOENT;
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string path = (folder.empty() ? "." : folder) + "/" + name;
    if (::access(path.c_str(), F_OK) != 0) continue;
    ::execvp(path.c_str(), argv);
    why = errno;
    if (why != EACCES && why != ENOENT) return why;
  }
  return why;
}

/// Gives only an error: when all goes well this process is another program.
Error become(const Program& program, pid_t supervisor) {
  if (auto placed = take_place(program, supervisor); !placed) return placed.error();
  std::vector<char*> argv = pointers(program.argv);
  std::vector<char*> environment = pointers(program.environment);
  environ = environment.data();  // the program is looked for in its own PATH
  const int why = find_and_run(program.argv[0], argv.data());
  const bool missing = why == ENOENT || why == EACCES;
  for (const std::string& other : program.otherwise) {
    if (!missing) break;
    argv[0] = const_cast<char*>(other.c_str());
    ::execvp(other.c_str(), argv.data());
  }
  Error error = system_error("cannot run '" + program.argv[0] + "'", why);
  if (missing) error.message += "; check that it is installed on this agent";
  return error;
}

/// Makes `fd` the standard stream of that number.
void take_stream(int fd, int number) {
  if (fd == number) {
    ::fcntl(fd, F_SETFD, 0);
  } else {
    ::dup2(fd, number);
  }
}

/// Both ends of the standard streams of a program. On a terminal `in` is all three of its own.
struct Streams {
  Descriptor in;
  Descriptor out;
  Descriptor err;
  Started ours;
};

Result<Streams> make_streams(const Program& program) {
  Streams streams;
  if (program.terminal) {
    TRY_ASSIGN(terminal, make_terminal(*program.terminal));
    streams.ours.out = Descriptor(::fcntl(terminal.ours.get(), F_DUPFD_CLOEXEC, 0));
    if (!streams.ours.out) return system_failure("cannot read a terminal");
    streams.ours.in = std::move(terminal.ours);
    streams.in = std::move(terminal.programs);
    return streams;
  }
  TRY_ASSIGN(out, make_pipe());
  TRY_ASSIGN(err, make_pipe());
  streams.out = std::move(out.write);
  streams.err = std::move(err.write);
  streams.ours.out = std::move(out.read);
  streams.ours.err = std::move(err.read);
  if (program.input) {
    TRY_ASSIGN(in, make_pipe());
    streams.in = std::move(in.read);
    streams.ours.in = std::move(in.write);
  } else {
    streams.in = Descriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  }
  return streams;
}

}  // namespace

Result<Started> spawn(const Program& program) {
  TRY_ASSIGN(streams, make_streams(program));
  TRY_ASSIGN(fault, make_pipe());  // closed by the kernel when the program runs
  const pid_t supervisor = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) return system_failure("fork");
  if (child == 0) {
    take_stream(streams.in.get(), 0);
    take_stream(streams.out ? streams.out.get() : 0, 1);
    take_stream(streams.err ? streams.err.get() : 0, 2);
    if (program.kept >= 0) ::fcntl(program.kept, F_SETFD, 0);
    ::umask(022);  // ours keeps everything to ourselves; a program expects the usual one
    const std::string why = become(program, supervisor).message;
    [[maybe_unused]] const ssize_t written = ::write(fault.write.get(), why.data(), why.size());
    ::_exit(127);
  }
  Started& ours = streams.ours;
  ours.pid = child;
  ours.fault = std::move(fault.read);
  for (const Descriptor* one : {&ours.out, &ours.err, &ours.in, &ours.fault}) {
    if (*one) set_nonblocking(one->get());
  }
  return std::move(streams.ours);
}

std::string read_fault(Descriptor& fault) {
  std::array<char, 4096> text;
  const ssize_t size = fault ? ::read(fault.get(), text.data(), text.size()) : 0;
  if (size > 0) return {text.data(), static_cast<std::size_t>(size)};
  if (size == 0) fault.close();
  return "";
}

Result<pid_t> spawn_init() {
  TRY_ASSIGN(lifeline, make_pipe());  // a signal at our death alone could come before the child has asked for it
  const pid_t child = ::fork();
  if (child < 0) return system_failure("cannot make a pid namespace");
  if (child > 0) {
    static Descriptor held;  // as long as this process lives
    held = std::move(lifeline.write);
    return child;
  }
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::prctl(PR_SET_NAME, "cadre-init");
  ::signal(SIGCHLD, SIG_IGN);  // the kernel reaps
  ::dup2(lifeline.read.get(), 0);
  ::close_range(1, ~0U, 0);
  char nothing = 0;
  while (::read(0, &nothing, 1) != 0) {
  }
  ::_exit(0);
}

}  // namespace cadre::supervisor
