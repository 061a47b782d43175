/// The shell of the part `experiment`: draws points for searches, reads rows that the part does not keep in
/// memory, searches the output of failed trials, and removes the files of checkpoints. For the thread of the master's
/// loop.
#pragma once

#include <any>
#include <memory>
#include <vector>

#include "experiment/part.h"
#include "loop/thread_pool.h"
#include "master/checkpoints/stores.h"
#include "master/output_reader.h"
#include "master/part_shell.h"

namespace cadre::master {

class ExperimentShell final : public PartShell {
 public:
  /// Without an `output`, none is searched.
  ExperimentShell(const Dependencies& dependencies, std::shared_ptr<CheckpointStores> stores,
                  std::shared_ptr<OutputReader> output);

  void perform(std::vector<std::any> effects) override;

 private:
  loop::Task<void> draw(experiment::DrawPoint effect);
  loop::Task<void> find(experiment::FindExperiment effect);
  loop::Task<void> find(experiment::FindCheckpoint effect);
  loop::Task<void> read(experiment::ReadCheckpoints effect);
  loop::Task<void> list(experiment::ListFiles effect);
  loop::Task<void> remove(experiment::RemoveCheckpoint effect);
  loop::Task<void> search(experiment::SearchOutput effect);
  /// Posts news that must not be lost.
  loop::Task<void> deliver(std::any news);

  Dependencies deps_;
  std::shared_ptr<CheckpointStores> stores_;
  std::shared_ptr<OutputReader> output_;
  loop::ThreadPool removers_;
  loop::ThreadPool listers_;
  loop::ThreadPool samplers_;  ///< a draw takes too long for the thread of the records
  loop::ThreadPool searchers_;
};

}  // namespace cadre::master
