/// What `cadre` ends with. Values.
#pragma once

namespace cadre::client {

enum ExitCode : int {
  done = 0,
  failed = 1,
  bad_usage = 2,
  refused = 3,
  unreachable = 4,
  own_failure = 125,  ///< of a command that else ends with the exit code of what it ran
};

}  // namespace cadre::client
