#include "supervisor/judge.h"

#include <sys/wait.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <utility>

#include "base/bytes.h"
#include "base/rounded.h"
#include "base/time.h"

namespace cadre::supervisor {

using cluster::TaskEnding;
using cluster::lease::Reason;

namespace {

std::string memory_words(const Evidence& seen) {
  return "used " + rounded(seen.usage.memory_most) + " of " + rounded(seen.memory_limit) + " of memory";
}

TaskEnding make_ending(Reason reason, std::int32_t code, std::string detail) {
  TaskEnding ending;
  ending.reason = reason;
  ending.code = code;
  ending.detail = std::move(detail);
  return ending;
}

TaskEnding plain(int wait_status) {
  if (!WIFSIGNALED(wait_status)) return make_ending(Reason::exited, WEXITSTATUS(wait_status), "");
  const char* name = ::sigabbrev_np(WTERMSIG(wait_status));
  return make_ending(Reason::signalled, WTERMSIG(wait_status), name == nullptr ? "" : std::string("SIG") + name);
}

bool killed_by(const Evidence& seen, Verdict verdict) {
  return seen.verdict == verdict && WIFSIGNALED(seen.wait_status) && WTERMSIG(seen.wait_status) == SIGKILL;
}

}  // namespace

std::string rounded(ByteSize size) {
  static constexpr std::array units{"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  std::size_t unit = 0;
  auto amount = static_cast<double>(size.value);
  while (amount >= 1024 && unit + 1 < units.size()) amount /= 1024, ++unit;
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f", amount);
  std::string out = text.data();
  if (out.ends_with(".0")) out.resize(out.size() - 2);
  return out + units.at(unit);
}

TaskEnding judge(const Evidence& seen) {
  TaskEnding ending;
  if (!seen.start_error.empty() && seen.disk_full) {  // no fault of the task: it runs again where there is room
    ending = make_ending(Reason::agent_lost, 0, "it could not start: " + seen.start_error);
  } else if (!seen.start_error.empty()) {
    ending = make_ending(Reason::failed_to_start, 0, seen.start_error);
  } else if (ending = plain(seen.wait_status); seen.oom_kills > 0 || killed_by(seen, Verdict::greedy)) {
    if (ending.reason == Reason::exited && ending.code == 0) {
      ending.detail = "a process of it was killed: " + memory_words(seen);
    } else {
      ending.reason = Reason::out_of_memory;
      ending.detail = memory_words(seen);
    }
  } else if (killed_by(seen, Verdict::grace_over)) {
    ending.detail = "killed after a grace period of " + cadre::rounded(seen.grace);
  } else if (killed_by(seen, Verdict::abandoned)) {
    ending.reason = Reason::agent_lost;
    ending.detail = "killed by its supervisor: no agent was connected for " + cadre::rounded(seen.abandon_after);
  } else if (killed_by(seen, Verdict::silent)) {
    ending.reason = Reason::unresponsive;
    ending.detail = "killed after it sent no heartbeat for " + cadre::rounded(seen.liveness);
  }
  const bool obeyed = ending.reason == Reason::exited && seen.grace > Duration{0};
  if (seen.given_up && (obeyed || ending.reason == Reason::signalled)) ending.reason = Reason::agent_lost;
  ending.usage = seen.usage;
  return ending;
}

}  // namespace cadre::supervisor
