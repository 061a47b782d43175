/// The thread that a simulated process writes its files or its database with: slow or full, as the
/// simulation wants it. For the loop's thread.
#pragma once

#include <deque>
#include <memory>

#include "base/dice.h"
#include "loop/blocking_pool.h"
#include "loop/loop.h"

namespace cadre::sim {

/// The disk itself; it outlives the process.
struct Disk {
  Duration slowest = std::chrono::milliseconds(5);
  bool full = false;  ///< nothing can be written
};

class DiskPool final : public loop::BlockingPool {
 public:
  DiskPool(loop::Loop& loop, const Disk& disk, Dice dice) : loop_(loop), disk_(disk), dice_(dice) {}
  DiskPool(const DiskPool&) = delete;
  DiskPool& operator=(const DiskPool&) = delete;
  ~DiskPool() override;

 private:
  Result<void> submit(std::shared_ptr<Job> job) override;
  /// The process is killed: what it was writing is done or not.
  void abandon(const Job& job) override;
  void begin_next();
  void finish();
  void settle(Job& job);

  loop::Loop& loop_;
  const Disk& disk_;
  Dice dice_;
  std::deque<std::shared_ptr<Job>> jobs_;  ///< the first is under way
  loop::Timer end_;
};

}  // namespace cadre::sim
