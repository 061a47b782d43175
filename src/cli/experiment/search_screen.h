/// A running search as lines of a terminal, and as news for a log. Pure; safe on any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "cli/table.h"
#include "experiment/views.h"

namespace cadre::cli {

struct ScreenTrial {
  experiment::TrialView trial;
  std::vector<double> curve;  ///< of the searcher's metric
};

/// What is shown of a search.
struct SearchScreen {
  experiment::ExperimentView experiment;
  // The best first.
  std::vector<ScreenTrial> ended;
  std::vector<ScreenTrial> running;
  std::optional<Duration> remaining;
  std::vector<std::string> remarks;  ///< why trials wait, and how the last one failed
  std::string notice;                ///< for example that the master is away; empty: none
  TimePoint now;
};

struct ScreenShape {
  std::size_t columns = 80;
  std::size_t rows = 24;
};

struct ScreenLine {
  std::string text;
  Colour colour = Colour::plain;
  bool operator==(const ScreenLine&) const = default;
};

/// At most `rows` lines, none of them wider than `columns`.
[[nodiscard]] std::vector<ScreenLine> lines_of(const SearchScreen& screen, const ScreenShape& shape);

/// How many trials of a kind have room in such a terminal.
[[nodiscard]] std::size_t screen_trials_most(const ScreenShape& shape);

}  // namespace cadre::cli
