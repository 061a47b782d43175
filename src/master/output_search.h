/// Searches the output of a run that failed for the lines that log policies name, within bounds of bytes and time. For
/// a thread that may be blocked.
#pragma once

#include <cstdint>

#include "base/time.h"
#include "experiment/control/log_policies.h"
#include "master/output_reader.h"

namespace cadre::master {

struct OutputBounds {
  std::int64_t lines_most = 200'000;                 ///< the last ones of each task
  std::int64_t bytes_most = std::int64_t{32} << 20;  ///< of each task, from there on
  Duration wait_max = std::chrono::seconds(10);      ///< for output that agents have yet to send
  Duration time_max = std::chrono::seconds(20);      ///< for all of it
};

/// The error is that of the reader when it is closed; any other is a problem of the answer, beside what was found.
[[nodiscard]] Result<experiment::OutputSearched> search_output(OutputReader& reader,
                                                               const experiment::SearchOutput& search,
                                                               const OutputBounds& bounds = {});

}  // namespace cadre::master
