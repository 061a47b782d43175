#include "supervisor/termination.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>

#include "supervisor/descriptor.h"

namespace cadre::supervisor {

namespace {

constexpr Duration look_again = std::chrono::milliseconds(100);

void ask(const Process& process) {
  const Descriptor held(static_cast<int>(::syscall(SYS_pidfd_open, process.pid, 0)));
  // Meanwhile its number may have become that of a process of somebody else.
  if (!held || process_of(process.pid).started != process.started) return;
  ::syscall(SYS_pidfd_send_signal, held.get(), SIGTERM, nullptr, 0);
}

}  // namespace

std::vector<Process> topmost(const std::vector<Process>& tree, const std::function<bool(const Process&)>& holds) {
  std::vector<Process> found;
  std::set<pid_t> covered;
  for (const Process& process : tree) {
    const bool is_below = covered.contains(process.parent);
    if (!is_below && !holds(process)) continue;
    covered.insert(process.pid);
    if (!is_below) found.push_back(process);
  }
  return found;
}

void Termination::look(pid_t leader, const std::function<void()>& ask_leader, TimePoint now) {
  std::vector<Process> tree = descendants(leader);
  tree.insert(tree.begin(), process_of(leader));
  const auto was_asked = [this](const Process& one) { return asked_.contains({one.pid, one.started}); };
  const std::vector<Process> found = topmost(tree, [&](const Process& one) {
    // One that was asked may have taken its handler back, so that a second signal ends it at once.
    return one.state != 'Z' && (was_asked(one) || expects_signal(one.pid, SIGTERM));
  });
  const bool is_idle = found.empty();
  const bool waits_for_shell = is_idle && !asked_.empty() && !was_idle_;  // it may just be ending by itself
  if ((is_idle && !waits_for_shell) || (!is_idle && found.front().pid == leader)) {
    ask_leader();
    next_ = TimePoint::max();
    return;
  }
  for (const Process& process : found) {
    if (asked_.insert({process.pid, process.started}).second) ask(process);
  }
  was_idle_ = is_idle;
  next_ = now + look_again;
}

}  // namespace cadre::supervisor
