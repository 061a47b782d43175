#include "agent/local_provider.h"

#include <cstring>
#include <utility>

namespace cadre::agent {
namespace {

Instance::Ending ending_of(const loop::ChildProcess::Ending& ending) {
  using Cause = Instance::Ending::Cause;
  if (ending.was_killed) return {Cause::killed, "killed by signal " + std::to_string(ending.number)};
  if (ending.number == 0) return {Cause::completed, "the agent has ended"};
  return {Cause::failed, "the agent has ended with exit status " + std::to_string(ending.number)};
}

}  // namespace

loop::Task<Result<void>> LocalProvider::start(InstanceId id) {
  const auto known = children_.find(id);
  if (known != children_.end() && known->second->ending()) {
    co_return fail(Errc::conflict, "instance '" + id.value + "' has ended; stop it before it is started again");
  }
  if (known != children_.end()) co_return Result<void>();
  Result<loop::ChildProcess> child = loop::ChildProcess::start([&] { return options_.run(id); });
  if (!child) co_return Failure(child.error());
  children_.emplace(std::move(id), std::make_shared<loop::ChildProcess>(*std::move(child)));
  co_return Result<void>();
}

loop::Task<Result<std::vector<Instance>>> LocalProvider::list() {
  std::vector<Instance> all;
  for (const auto& [id, child] : children_) {
    Instance& one = all.emplace_back(Instance{id, Instance::State::running, std::nullopt});
    if (!child->ending()) continue;
    one.state = Instance::State::ended;
    one.ending = ending_of(*child->ending());
  }
  co_return all;
}

loop::Task<Result<void>> LocalProvider::stop(InstanceId id, Stop how) {
  const auto known = children_.find(id);
  if (known == children_.end()) co_return Result<void>();
  const std::shared_ptr<loop::ChildProcess> child = known->second;
  if (how == Stop::at_once) child->hurry();
  co_await child->stop(loop_, options_.patience);
  const auto stopped = children_.find(id);  // another stop may have been first
  if (stopped != children_.end() && stopped->second == child) children_.erase(stopped);
  co_return Result<void>();
}

}  // namespace cadre::agent
