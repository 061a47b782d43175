/// Log policies: the output of a run that failed is searched for the lines that they name, and what follows from the
/// lines that were found. Pure; one thread at a time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "experiment/config.h"
#include "experiment/ending.h"
#include "experiment/ids.h"

namespace cadre::experiment {

/// An effect: search this output, and answer with OutputSearched.
struct SearchOutput {
  TrialId trial;
  std::uint64_t run = 0;
  std::vector<std::string> patterns;  ///< of the policies, in their order
  std::vector<RunOutput> outputs;
};

/// The first line of an agent's output that matches a pattern.
struct LineFound {
  std::size_t policy = 0;
  std::string agent;
  std::string line;
};
/// The answer.
struct OutputSearched {
  TrialId trial;
  std::uint64_t run = 0;
  std::vector<LineFound> found;
  std::string problem;  ///< why not all of the output was searched; empty: it was
};

/// Bytes of a line that are shown in reasons.
constexpr std::size_t line_shown_most = 200;

/// What the policies say about a trial whose output has these lines.
struct PolicyVerdict {
  std::string forbidden;                ///< why it is not restarted; empty: it may be
  std::string excluded;                 ///< why it is not restarted on some agents
  std::vector<std::string> exclusions;  ///< these agents
};
[[nodiscard]] PolicyVerdict verdict_of(const std::vector<LogPolicy>& policies, const std::vector<LineFound>& found);

}  // namespace cadre::experiment
