/// What a search would do, as text for people. Pure; one thread at a time.
#pragma once

#include <string>
#include <vector>

#include "experiment/config.h"
#include "search/preview.h"
#include "search/simulation.h"

namespace cadre::cli {

/// `random, 20 trials`: what the search of a file is, in one line.
std::string search_words(const experiment::Checked& experiment);
std::string preview_text(const search::Preview& preview, const experiment::Config& config, bool coloured);
/// A table of the trials, and the best one.
std::string simulation_text(const std::vector<search::SimulatedTrial>& trials, const experiment::Config& config,
                            bool coloured);

}  // namespace cadre::cli
