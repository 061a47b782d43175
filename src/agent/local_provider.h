/// Agents as child processes of this process. They end with it. For the thread of its loop, in a process without other
/// threads.
#pragma once

#include <functional>
#include <map>
#include <memory>

#include "agent/provider.h"
#include "loop/child_process.h"
#include "loop/loop.h"

namespace cadre::agent {

class LocalProvider final : public Provider {
 public:
  struct Options {
    /// Runs the agent of an instance, in the child process; its result is the exit status.
    std::function<int(const InstanceId&)> run;
    /// Before an instance that was asked to end is killed.
    loop::ChildProcess::Patience patience;
  };
  LocalProvider(loop::Loop& loop, Options options) : loop_(loop), options_(std::move(options)) {}

  loop::Task<Result<void>> start(InstanceId id) override;
  loop::Task<Result<std::vector<Instance>>> list() override;
  loop::Task<Result<void>> stop(InstanceId id, Stop how) override;

 private:
  loop::Loop& loop_;
  const Options options_;
  std::map<InstanceId, std::shared_ptr<loop::ChildProcess>> children_;  // shared with stops that are under way
};

}  // namespace cadre::agent
