#include "loop/child_process.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <utility>

namespace cadre::loop {
namespace {

constexpr Duration look_every = std::chrono::milliseconds(10);

}  // namespace

Result<ChildProcess> ChildProcess::start(const std::function<int()>& run) {
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return fail(Errc::unavailable, std::strerror(errno));
  if (pid > 0) return ChildProcess(pid);
  ::signal(SIGTERM, SIG_DFL);
  ::signal(SIGINT, SIG_DFL);
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(1);
  const int status = run();
  std::fflush(nullptr);
  ::_exit(status);
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, 0)), ending_(other.ending_), is_hurried_(other.is_hurried_) {}

ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept {
  pid_ = std::exchange(other.pid_, 0);
  ending_ = other.ending_;
  is_hurried_ = other.is_hurried_;
  return *this;
}

const std::optional<ChildProcess::Ending>& ChildProcess::ending() {
  int status = 0;
  if (!ending_ && ::waitpid(pid_, &status, WNOHANG) == pid_) {
    ending_ = WIFSIGNALED(status) ? Ending{true, WTERMSIG(status)} : Ending{false, WEXITSTATUS(status)};
  }
  return ending_;
}

Task<ChildProcess::Ending> ChildProcess::stop(Loop& loop, Patience patience) {
  if (!ending()) ::kill(pid_, SIGTERM);
  TimePoint kill_at = loop.now() + patience.graceful;
  for (bool is_urgent = false; !ending();) {
    if (is_hurried_ && !std::exchange(is_urgent, true)) {
      ::kill(pid_, SIGTERM);
      kill_at = std::min(kill_at, loop.now() + patience.hurried);
    }
    if (loop.now() >= kill_at) ::kill(pid_, SIGKILL);
    co_await sleep(loop, look_every);
  }
  co_return *ending_;
}

}  // namespace cadre::loop
