/// A job from the words of a command line, or from a file. One thread at a time.
///
/// Which values are allowed is said where the job is described (cluster/job.h): options are put into a tree, like that
/// of a file, and read from there.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "cli/described_options.h"
#include "cluster/job.h"

namespace cadre::cli {

struct JobOptions {
  std::vector<std::string> command;
  std::string file;
  std::string code;  ///< the folder to pack
  GivenOptions given;
};

/// Adds the options; `options` must outlive the command.
void add_job_options(CLI::App& command, JobOptions& options);

/// The job, or one line for each fault, with its place and its remedy.
[[nodiscard]] tl::expected<cluster::JobSpec, std::string> make_job(const JobOptions& options);

}  // namespace cadre::cli
