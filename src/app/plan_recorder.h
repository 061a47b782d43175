/// Writes each plan and what it decided into files that `cadre plan` and people read. One thread at a time.
#pragma once

#include <string>
#include <utility>

#include "cluster/control/control.h"

namespace cadre::app {

class PlanRecorder {
 public:
  explicit PlanRecorder(std::string folder) : folder_(std::move(folder)) {}
  void operator()(const cluster::control::PlanRecord& record);

 private:
  std::string folder_;
  int number_ = 0;
};

}  // namespace cadre::app
