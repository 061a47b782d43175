/// Hands a job to the master and, if that is wanted, follows it to its end. For the main thread.
#pragma once

#include <functional>
#include <string>

#include "cli/commands/verb.h"
#include "cluster/job.h"

namespace cadre::cli {

struct Submission {
  ClientOptions client;
  cluster::JobSpec spec;
  std::string code;      ///< the folder to pack; empty: none
  bool follows = false;  ///< else only its number is printed
  /// What people call a task, given how many there are at most; empty: it needs no name.
  std::function<std::string(cluster::TaskId, std::size_t)> name_of;
  bool input = false;     ///< of its only task is passed on
  bool terminal = false;  ///< on which it runs
};

/// The exit code: that of the job, if it was followed.
int submit(const CLI::App& command, Submission submission);

/// Packs a folder and sends it to the master: its content hash, or the exit code after a complaint that begins with
/// `option`.
[[nodiscard]] loop::Task<tl::expected<std::string, int>> send_code(CommandContext& session, std::string folder,
                                                                   std::string option);

/// Tells that a file or the words of a command are wrong, a line for each fault.
int refuse(const CLI::App& command, const std::string& faults);

}  // namespace cadre::cli
