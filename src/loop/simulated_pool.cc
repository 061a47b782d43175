#include "loop/simulated_pool.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace cadre::loop {

SimulatedPool::SimulatedPool(Loop& loop, PoolOptions options, const Delay& delay)
    : loop_(loop), options_(std::move(options)), delay_(delay), dice_(delay.seed) {
  CHECK(options_.threads > 0);
  CHECK(Duration::zero() <= delay_.shortest && delay_.shortest <= delay_.longest);
}

SimulatedPool::~SimulatedPool() {
  for (Working& working : working_) {
    working.end.cancel();
    working.job->work();
    resume_on_loop(std::move(working.job));
  }
  for (std::shared_ptr<Job>& job : waiting_) {
    job->refuse(pool_ended(options_));
    resume_on_loop(std::move(job));
  }
}

Result<void> SimulatedPool::submit(std::shared_ptr<Job> job) {
  if (working_.size() + waiting_.size() == options_.threads + options_.queue_max) return Failure(pool_full(options_));
  waiting_.push_back(std::move(job));
  start_waiting();
  return {};
}

void SimulatedPool::abandon(const Job& job) {
  std::erase_if(waiting_, [&job](const std::shared_ptr<Job>& other) { return other.get() == &job; });
  const auto working =
      std::find_if(working_.begin(), working_.end(), [&job](const Working& w) { return w.job.get() == &job; });
  if (working != working_.end()) finish(working);
}

void SimulatedPool::start_waiting() {
  while (working_.size() < options_.threads && !waiting_.empty()) {
    const auto self = working_.insert(working_.end(), {std::move(waiting_.front()), {}});
    waiting_.pop_front();
    const Duration delay(dice_.between(delay_.shortest.count(), delay_.longest.count()));
    self->end = loop_.after(delay, [this, self] { finish(self); });
  }
}

void SimulatedPool::finish(std::list<Working>::iterator working) {
  std::shared_ptr<Job> job = std::move(working->job);
  working_.erase(working);
  job->work();
  resume_on_loop(std::move(job));
  start_waiting();
}

void SimulatedPool::resume_on_loop(std::shared_ptr<Job> job) {
  loop_.post([job = std::move(job)] { job->resume(); });
}

}  // namespace cadre::loop
