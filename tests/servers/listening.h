/// Servers of tests that are programs and listen on a loopback port. One thread at a time.
#pragma once

#include <sys/types.h>

#include "tests/servers/process.h"

namespace cadre::servers {

/// Whether there is a server at a loopback port.
bool listens(int port);

/// Starts a server and waits until it listens; -1 when it ends before that, or does not within half a minute.
pid_t start_server(const Command& command, int port);

}  // namespace cadre::servers
