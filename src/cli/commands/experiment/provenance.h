/// Where an experiment comes from: its git work tree, its interpreter, its host. Runs programs; for the main thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "experiment/rows.h"

namespace cadre::cli {

/// What a program writes to its standard output, at most so many bytes. Nothing: it cannot be run, takes longer, or
/// ends with another code than 0 before that much was written.
[[nodiscard]] std::optional<std::string> output_of(const std::vector<std::string>& argv, std::size_t bytes_most,
                                                   Duration wait);

/// Of a submission by this process with the code of a folder; empty: it has none. What cannot be found out is left
/// empty.
[[nodiscard]] experiment::Provenance provenance_of(const std::string& folder);

/// Empty: the system does not say.
[[nodiscard]] std::string host_name();

}  // namespace cadre::cli
