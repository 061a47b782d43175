/// Makes a pseudo terminal for a program, and sets its size. For the supervisor's only thread.
#pragma once

#include "base/result.h"
#include "cluster/task.h"
#include "supervisor/descriptor.h"

namespace cadre::supervisor {

struct TerminalPair {
  Descriptor ours;      ///< what the program writes is read here, and its input written; does not block
  Descriptor programs;  ///< its standard streams
};

/// The program's end needs no name in its file system, so that it works whatever /dev/pts is there.
[[nodiscard]] Result<TerminalPair> make_terminal(const cluster::Terminal& terminal);

/// The program is told by SIGWINCH.
void set_size(int ours, const cluster::Terminal& terminal);

}  // namespace cadre::supervisor
