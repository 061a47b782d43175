/// Follows an experiment until it has ended, and shows it meanwhile. For the thread of the session's loop.
#pragma once

#include <optional>
#include <string>

#include "cli/commands/verb.h"
#include "experiment/views.h"

namespace cadre::cli {

enum class Display : std::uint8_t {
  nothing,
  screen,       ///< drawn again in place on a terminal
  lines,        ///< a line for each change, on standard output
  error_lines,  ///< the same on standard error
};
/// What suits standard output; with --json it is for the one value.
[[nodiscard]] Display display_of(const ClientOptions& client);

/// Until the experiment has ended, whatever becomes of the master in between.
[[nodiscard]] loop::Task<Result<experiment::ExperimentView>> watch_to_end(CommandContext& session,
                                                                          experiment::ExperimentId id, Display display);

/// Whether the end of an experiment counts as success.
[[nodiscard]] int exit_code_of(const experiment::ExperimentView& experiment);

struct WatchOptions {
  ClientOptions client;
  experiment::ExperimentId experiment;
  int interrupted_code = 0;  ///< with which Ctrl-C ends the command
};
/// Shows an experiment until it has ended, and how it has ended; Ctrl-C leaves it running. The exit code.
[[nodiscard]] loop::Task<int> watch_experiment(CommandContext& session, std::shared_ptr<const WatchOptions> options);

}  // namespace cadre::cli
