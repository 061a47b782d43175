/// Child processes of tests, none of which outlives the test program. One thread at a time.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

namespace cadre::servers {

/// Makes a child, as fork() does.
using Fork = std::function<pid_t()>;

struct Command {
  std::vector<std::string> arguments;         ///< the first is the program's path
  std::string user;                           ///< whom to become when root; empty: stay
  std::string output;                         ///< file for what it says, appended; empty: where the tests' output goes
  int death_signal = 9;                       ///< what it gets when the starting thread ends
  std::vector<std::string> environment = {};  ///< NAME=VALUE, besides what the tests have
  Fork fork = {};                             ///< for a child on a host (hosts.h); empty: here
};

/// Starts it and gives its process id; throws std::runtime_error when the program is not there.
pid_t start(const Command& command);
/// Starts it, waits for its end, and gives its exit status; -1 for an end by a signal.
int run(const Command& command);

/// Runs `body` in a forked child, which ends without unwinding. Open there what it needs: nothing may be shared.
pid_t fork_child(const std::function<int()>& body, const Fork& fork = {});
/// Waits for its end: the exit status, or -1 for an end by a signal.
int wait_for(pid_t child);

/// Sends SIGKILL to a process and those it started, and waits for its end.
void kill_tree(pid_t child);

}  // namespace cadre::servers
