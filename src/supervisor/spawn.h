/// Starts a program inside a task: its leading process, or another one beside it. For the supervisor's only thread.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cluster/task.h"
#include "supervisor/descriptor.h"
#include "supervisor/isolation/cgroup.h"
#include "supervisor/isolation/rights.h"
#include "supervisor/isolation/view.h"

namespace cadre::supervisor {

struct Program {
  std::vector<std::string> argv;
  std::vector<std::string> environment;
  std::string folder;                ///< where it starts
  const Cgroup* group = nullptr;     ///< what it is put in
  std::optional<View> view;          ///< what it is to see, in a mount namespace of its own
  int users = -1;                    ///< user namespace that it is in, and that locks its view
  bool joins_view = false;           ///< what another sees is joined instead; nothing runs if that cannot be
  bool joins_ipc = false;            ///< the same for its shared memory and semaphores
  int mount_namespace = -1;          ///< of that
  int ipc_namespace = -1;            ///< the same
  Rights rights;                     ///< as whom it runs
  std::optional<int> processes_max;  ///< of this user in this user namespace
  bool dies_with_us = false;
  int kept = -1;                                ///< a descriptor of ours that it has, too, by the same number
  bool input = false;                           ///< else its standard input is empty
  std::optional<cluster::Terminal> terminal{};  ///< on which it runs, with its input
  std::vector<std::string> otherwise;           ///< tried in turn instead of argv[0] if that is not there
};

struct Started {
  pid_t pid = 0;
  Descriptor out;
  Descriptor err;    ///< none on a terminal, where all of its output is one stream
  Descriptor fault;  ///< ends when the program runs; says before that why it cannot
  Descriptor in;     ///< where its input goes, if it gets any
};

/// Does not wait until the program runs, which may take long where files lie far away.
[[nodiscard]] Result<Started> spawn(const Program& program);

/// Why the program cannot run, for people: which command, which part, and what to do. Nothing while it is not known,
/// and when it runs, which is when the descriptor is closed.
[[nodiscard]] std::string read_fault(Descriptor& fault);

/// Starts the first process of the pid namespace that this process's children are born in. It reaps the orphans there,
/// does nothing else, and dies with us; when it dies the kernel kills all others there.
[[nodiscard]] Result<pid_t> spawn_init();

}  // namespace cadre::supervisor
