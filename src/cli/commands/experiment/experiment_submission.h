/// Hands an experiment to the master and, if that is wanted, follows or tests it. For the main thread.
#pragma once

#include <string>

#include "cli/commands/verb.h"
#include "experiment/requests/experiments.h"

namespace cadre::cli {

enum class Afterwards : std::uint8_t {
  exit,    ///< its ID is printed
  follow,  ///< it is shown until it has ended
  test,    ///< a verdict is printed
};

struct ExperimentSubmission {
  ClientOptions client;
  experiment::requests::CreateExperiment request;
  std::string folder;  ///< to pack; empty: the code of the request
  Afterwards afterwards = Afterwards::exit;
};

/// The exit code.
[[nodiscard]] loop::Task<int> submit_experiment(CommandContext& session,
                                                std::shared_ptr<const ExperimentSubmission> submission);

/// Tells that a file or the words of a command are wrong, a line for each fault; the exit code.
int refuse_experiment(const CLI::App& command, const std::string& faults);

}  // namespace cadre::cli
