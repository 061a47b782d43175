/// What `cadre` exits with, and the exit codes of errors. Values; safe on any thread.
#pragma once

#include "base/result.h"

namespace cadre::cli {

enum ExitCode : int {
  done = 0,
  failed = 1,
  bad_usage = 2,
  refused = 3,
  unreachable = 4,
  own_failure = 125,  ///< of a command that otherwise exits with the exit code of what it ran
};

/// Of an error of a request to a master.
[[nodiscard]] ExitCode exit_code_of(const Error& error);
/// Of an error in what the user has typed or set, before a master is asked: there `invalid` is a usage error.
[[nodiscard]] ExitCode exit_code_of_usage(const Error& error);

}  // namespace cadre::cli
