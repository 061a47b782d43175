#include "client/callbacks.h"

#include <cstdio>
#include <exception>
#include <utility>

namespace cadre::client {

Callbacks::~Callbacks() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  has_work_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void Callbacks::run_here(const Call& call) {
  try {
    call();
  } catch (const std::exception& error) {  // it has nowhere to go
    std::fprintf(stderr, "cadre: what was to be done with an answer failed: %s\n", error.what());
  }
}

void Callbacks::run(std::vector<Call> calls) {
  if (calls.empty()) return;
  const std::lock_guard lock(mutex_);
  for (Call& call : calls) waiting_.push_back(std::move(call));
  if (!thread_.joinable()) thread_ = std::thread([this] { serve(); });
  has_work_.notify_one();
}

void Callbacks::finish() {
  std::unique_lock lock(mutex_);
  if (thread_.get_id() == std::this_thread::get_id()) return;
  is_done_.wait(lock, [this] { return waiting_.empty() && !is_at_work_; });
}

bool Callbacks::is_here() const {
  const std::lock_guard lock(mutex_);
  return thread_.get_id() == std::this_thread::get_id();
}

void Callbacks::serve() {
  std::unique_lock lock(mutex_);
  for (;;) {
    has_work_.wait(lock, [this] { return is_ending_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    Call call = std::move(waiting_.front());
    waiting_.pop_front();
    is_at_work_ = true;
    lock.unlock();
    run_here(call);
    call = nullptr;  // what it holds may take its time to go
    lock.lock();
    is_at_work_ = false;
    if (waiting_.empty()) is_done_.notify_all();
  }
}

}  // namespace cadre::client
