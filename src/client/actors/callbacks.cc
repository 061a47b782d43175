#include "client/actors/callbacks.h"

#include <cstdio>
#include <exception>
#include <utility>

namespace cadre::client {
namespace {

constexpr std::size_t waiting_max = 10'000;

void complain(const char* why) { std::fprintf(stderr, "cadre: the callback for a result failed: %s\n", why); }

}  // namespace

Callbacks::Callbacks(std::function<void()> roomy) : roomy_(std::move(roomy)), thread_([this] { serve(); }) {}

Callbacks::~Callbacks() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  has_work_.notify_one();
  thread_.join();
}

void Callbacks::run_here(const Call& call) {
  try {
    call();
  } catch (const std::exception& error) {  // it has nowhere to go
    complain(error.what());
  } catch (...) {
    complain("an exception that is not a std::exception was thrown");
  }
}

void Callbacks::run(std::vector<Call> calls) {
  if (calls.empty()) return;
  const std::lock_guard lock(mutex_);
  for (Call& call : calls) waiting_.push_back(std::move(call));
  has_work_.notify_one();
}

bool Callbacks::has_room() const {
  if (is_here()) return true;
  const std::lock_guard lock(mutex_);
  return waiting_.size() < waiting_max;
}

void Callbacks::finish(Duration most) {
  if (is_here()) return;
  std::unique_lock lock(mutex_);
  is_done_.wait_for(lock, most, [this] { return waiting_.empty() && !is_at_work_; });
}

void Callbacks::serve() {
  std::unique_lock lock(mutex_);
  for (;;) {
    has_work_.wait(lock, [this] { return is_ending_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    Call call = std::move(waiting_.front());
    waiting_.pop_front();
    const bool is_roomy_again = waiting_.size() + 1 == waiting_max;
    is_at_work_ = true;
    lock.unlock();
    if (is_roomy_again) roomy_();
    run_here(call);
    call = nullptr;  // what it holds may take its time to go
    lock.lock();
    is_at_work_ = false;
    if (waiting_.empty()) is_done_.notify_all();
  }
}

}  // namespace cadre::client
