#include "tests/sim/disk_pool.h"

#include <algorithm>
#include <utility>

namespace cadre::sim {

DiskPool::~DiskPool() {
  for (std::shared_ptr<Job>& job : jobs_) job->refuse({Errc::unavailable, "the process ends"});
}

Result<void> DiskPool::submit(std::shared_ptr<Job> job) {
  jobs_.push_back(std::move(job));
  if (jobs_.size() == 1) begin_next();
  return {};
}

void DiskPool::abandon(const Job& job) {
  if (jobs_.empty()) return;
  if (jobs_.front().get() == &job) {
    end_.cancel();
    dice_.percent(50) ? jobs_.front()->refuse({Errc::unavailable, "the process was killed"}) : settle(*jobs_.front());
    jobs_.pop_front();
    if (!jobs_.empty()) begin_next();
    return;
  }
  std::erase_if(jobs_, [&](const std::shared_ptr<Job>& one) { return one.get() == &job; });
}

void DiskPool::begin_next() {
  const Duration time(dice_.between(10'000, std::max<std::int64_t>(disk_.slowest.count(), 10'000)));
  end_ = loop_.after(time, [this] { finish(); });
}

void DiskPool::finish() {
  std::shared_ptr<Job> job = std::move(jobs_.front());
  jobs_.pop_front();
  settle(*job);
  loop_.post([job = std::move(job)] { job->resume(); });
  if (!jobs_.empty()) begin_next();
}

void DiskPool::settle(Job& job) {
  if (disk_.full) return job.refuse({Errc::unavailable, "the disk is full"});
  job.work();
}

}  // namespace cadre::sim
