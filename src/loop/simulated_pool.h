/// A blocking pool without threads, for a simulated loop: each work takes a virtual time drawn from a seed and then
/// happens on the loop at once. For the loop's thread.
#pragma once

#include <cstdint>
#include <deque>
#include <list>
#include <memory>

#include "base/dice.h"
#include "base/time.h"
#include "loop/blocking_pool.h"
#include "loop/loop.h"

namespace cadre::loop {

class SimulatedPool final : public BlockingPool {
 public:
  struct Delay {
    std::uint64_t seed = 1;
    Duration shortest = std::chrono::microseconds(10);
    Duration longest = std::chrono::milliseconds(10);
  };

  SimulatedPool(Loop& loop, PoolOptions options, const Delay& delay);
  SimulatedPool(const SimulatedPool&) = delete;
  SimulatedPool& operator=(const SimulatedPool&) = delete;

  /// Does at once what works now and refuses the rest.
  ~SimulatedPool() override;

 private:
  struct Working {
    std::shared_ptr<Job> job;
    Timer end;
  };

  Result<void> submit(std::shared_ptr<Job> job) override;
  void abandon(const Job& job) override;
  void start_waiting();
  void finish(std::list<Working>::iterator working);
  void resume_on_loop(std::shared_ptr<Job> job);

  Loop& loop_;
  const PoolOptions options_;
  const Delay delay_;
  Dice dice_;
  std::list<Working> working_;
  std::deque<std::shared_ptr<Job>> waiting_;
};

}  // namespace cadre::loop
