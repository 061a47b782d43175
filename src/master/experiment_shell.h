/// The shell of the part `experiment`: draws points for searches, and reads rows that the part does not keep in memory.
/// For the thread of the master's loop.
#pragma once

#include <any>
#include <vector>

#include "experiment/part.h"
#include "loop/thread_pool.h"
#include "master/part_shell.h"

namespace cadre::master {

class ExperimentShell final : public PartShell {
 public:
  explicit ExperimentShell(const Dependencies& dependencies);

  void perform(std::vector<std::any> effects) override;

 private:
  loop::Task<void> draw(experiment::DrawPoint effect);
  loop::Task<void> find(experiment::FindExperiment effect);
  loop::Task<void> find(experiment::FindCheckpoint effect);

  Dependencies deps_;
  loop::ThreadPool samplers_;  ///< a draw takes too long for the thread of the records
};

}  // namespace cadre::master
