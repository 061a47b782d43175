/// A program of the user's that gives the metrics of a trial, with which a search is tried. For the main thread.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "search/simulation.h"

namespace cadre::cli {

struct MetricProgram {
  static constexpr std::size_t most_output = 65'536;

  std::string command;  ///< for the shell
  Duration timeout{};
};

/// Runs the program for one trial: its hyperparameters are a line of JSON on standard input and in
/// CADRE_HYPERPARAMETERS, its number is in CADRE_TRIAL_NUMBER, its seed in CADRE_TRIAL_SEED. It prints one number or
/// more. Blocks until it has ended; when it takes too long, it is killed with all of its processes.
[[nodiscard]] Result<std::vector<double>> run_metric_program(const MetricProgram& program, const search::Moment& trial);

}  // namespace cadre::cli
