/// An experiment file with the settings of a command line in it, checked before a master is asked. One thread at a
/// time.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
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

/// What the commands that need no master take: an experiment file, and settings.
struct ExperimentFileOptions {
  std::string file;
  std::vector<std::string> settings;
};
void add_experiment_file(CLI::App& command, ExperimentFileOptions& options);
/// Nothing: all that is wrong was printed, and the command ends with bad_usage.
[[nodiscard]] std::optional<ExperimentFile> read_experiment_file(const CLI::App& command,
                                                                 const ExperimentFileOptions& options);

/// Gives the key at a path its value: `searcher.max_trials`, `labels.0`; what is wrong, or nothing.
[[nodiscard]] std::string put_setting(describe::Value& tree, const std::string& path, const describe::Value& value);

/// Puts `searcher.max_trials=20` and the like, in their order, into the tree and checks the whole; all faults at once,
/// a line for each. `name` is that of the file, for the faults.
[[nodiscard]] tl::expected<ExperimentFile, std::string> check_experiment(describe::Value tree, const std::string& name,
                                                                         const std::vector<std::string>& settings);
/// The same of a file; `-` is standard input.
[[nodiscard]] tl::expected<ExperimentFile, std::string> read_experiment_file(const std::string& path,
                                                                             const std::vector<std::string>& settings);

/// The first file that the entrypoint names by a relative path and that only the code of the experiment can have there:
/// neither a working folder nor setup commands are given. Empty: none was found.
[[nodiscard]] std::string file_of_code(const experiment::Config& config);

}  // namespace cadre::cli
