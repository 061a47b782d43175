#include "loop/tasks.h"

#include <utility>

#include "base/check.h"

namespace cadre::loop {

/// The outermost coroutine of a spawned task: nobody awaits it, its frame frees itself at the end.
struct Tasks::Root {
  struct promise_type {
    Root get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_always initial_suspend() const noexcept { return {}; }
    std::suspend_never final_suspend() const noexcept { return {}; }
    void return_void() const {}
    void unhandled_exception() const { exception_escaped(); }
  };
  std::coroutine_handle<> handle;
};

Tasks::Root Tasks::run(Tasks& tasks, std::list<Living>::iterator self, Task<void> task) {
  co_await std::move(task);
  tasks.living_.erase(self);
  tasks.wake_if_ended();
}

void Tasks::spawn(Task<void> task) {
  const auto self = living_.emplace(living_.end());
  self->root = run(*this, self, std::move(task)).handle;
  self->start = loop_.after(Duration::zero(), [root = self->root] { root.resume(); });
}

void Tasks::destroy_all() {
  while (!living_.empty()) {
    const std::coroutine_handle<> root = living_.front().root;
    living_.pop_front();
    root.destroy();
  }
  wake_if_ended();
}

void Tasks::wake_if_ended() {
  if (!living_.empty() || !waiting_) return;
  wake_ = loop_.after(Duration::zero(), [waiting = std::exchange(waiting_, nullptr)] { waiting.resume(); });
}

void Tasks::Ended::await_suspend(std::coroutine_handle<> waiting) {
  CHECK(!tasks_.waiting_);
  tasks_.waiting_ = waiting;
  waits_ = true;
}

Tasks::Ended::~Ended() {
  if (!waits_) return;
  tasks_.waiting_ = nullptr;
  tasks_.wake_.cancel();
}

}  // namespace cadre::loop
