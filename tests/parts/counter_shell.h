/// The shell of the part `counter`: logs values that were reached. For the thread of the master's loop.
#pragma once

#include <any>
#include <string>
#include <vector>

#include "master/part_shell.h"
#include "tests/parts/counter.h"

namespace cadre::counter {

class CounterShell final : public master::PartShell {
 public:
  explicit CounterShell(const master::Dependencies& dependencies) : log_(dependencies.log) {}

  void perform(std::vector<std::any> effects) override {
    for (const std::any& effect : effects) {
      const auto* reached = std::any_cast<LogValue>(&effect);
      if (reached != nullptr) log_.info("counter " + reached->name + " is at " + std::to_string(reached->value));
    }
  }

 private:
  Log& log_;
};

}  // namespace cadre::counter
