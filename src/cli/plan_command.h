/// `cadre plan`: what would the scheduler do? One thread at a time.
#pragma once

#include <string>

namespace cadre::cli {

struct PlanOptions {
  std::string file;  ///< `-` is standard input
  bool json = false;
};

/// Reads the file, plans, prints; the exit code.
int run_plan(const PlanOptions& options);

}  // namespace cadre::cli
