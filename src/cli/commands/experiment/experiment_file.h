/// An experiment file with the settings of a command line in it, checked before a master is asked. One thread at a time.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "experiment/config.h"

namespace cadre::cli {

struct ExperimentFile {
  describe::Value tree;  ///< as it is submitted
  experiment::Checked checked;
};

/// Adds `--set key=value`, which may be given several times.
void add_set_option(CLI::App& command, std::vector<std::string>& settings);

/// Puts `searcher.max_trials=20` and the like into the tree and checks the whole; all faults at once, a line for each.
/// `name` is that of the file, for the faults.
[[nodiscard]] tl::expected<ExperimentFile, std::string> check_experiment(describe::Value tree, const std::string& name,
                                                                         const std::vector<std::string>& settings);
/// The same of a file; `-` is standard input.
[[nodiscard]] tl::expected<ExperimentFile, std::string> read_experiment_file(const std::string& path,
                                                                             const std::vector<std::string>& settings);

}  // namespace cadre::cli
