/// Trials as a sampler sees them, in the order of creation. Values; safe on any thread.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "search/space.h"

namespace cadre::search {

struct Observation {
  Point point;
  std::vector<std::pair<double, double>> reports;  ///< time and signed metric, in order
  bool has_ended = false;                          ///< or is suspended: it does not run
  bool has_failed = false;                         ///< and so counts as the worst
};

/// All trials of a search, where they are: these must outlive it.
class Observations {
 public:
  Observations(const std::vector<Observation>& trials) {
    list_.reserve(trials.size());
    for (const Observation& one : trials) list_.push_back(&one);
  }
  Observations(const std::vector<std::shared_ptr<const Observation>>& trials) {
    list_.reserve(trials.size());
    for (const auto& one : trials) list_.push_back(one.get());
  }
  [[nodiscard]] const std::vector<const Observation*>& list() const { return list_; }

 private:
  std::vector<const Observation*> list_;
};

}  // namespace cadre::search
