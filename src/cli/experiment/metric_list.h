/// Metrics of trials from a file, with which a search is tried. Values; one thread at a time.
#pragma once

#include <string_view>
#include <vector>

#include "describe/describe.h"
#include "search/simulation.h"

namespace cadre::cli {

/// One entry for each trial, in order of creation: a number, or a list of numbers by report, of which the last repeats.
/// More trials begin again with the first entry.
class MetricList {
 public:
  [[nodiscard]] static describe::Read<MetricList> read(std::string_view json);

  [[nodiscard]] double at(const search::Moment& moment) const;

 private:
  std::vector<std::vector<double>> trials_;
};

/// The value of a report, if the values of a trial are these: the last repeats.
[[nodiscard]] double value_of_report(const std::vector<double>& values, std::int64_t report);

}  // namespace cadre::cli
