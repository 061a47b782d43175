/// A question under way that need not be waited for to its end: who waits can be interrupted, and ending this ends the
/// question. For the thread of its loop.
#pragma once

#include <coroutine>
#include <optional>
#include <utility>

#include "loop/tasks.h"

namespace cadre::cli {

template <class T>
class Inquiry {
 public:
  Inquiry(loop::Loop& loop, loop::Task<T> question) : loop_(loop), tasks_(loop) {
    tasks_.spawn(run(*this, std::move(question)));
  }
  Inquiry(const Inquiry&) = delete;
  Inquiry& operator=(const Inquiry&) = delete;

  /// co_await answer(wait): the answer, or nothing when there was none for so long or interrupt() came.
  auto answer(Duration wait) { return Answer{*this, wait}; }

  void interrupt() { wake(); }

 private:
  struct [[nodiscard]] Answer {
    Inquiry& inquiry;
    Duration wait;
    bool await_ready() const { return inquiry.answer_.has_value(); }
    void await_suspend(std::coroutine_handle<> waiting) {
      inquiry.waiting_ = waiting;
      inquiry.due_ = inquiry.loop_.after(wait, [owner = &inquiry] { owner->go_on(); });
    }
    std::optional<T> await_resume() { return std::exchange(inquiry.answer_, std::nullopt); }
  };

  static loop::Task<void> run(Inquiry& self, loop::Task<T> question) {
    T answer = co_await std::move(question);
    self.answer_.emplace(std::move(answer));
    self.wake();
  }
  void wake() {
    if (waiting_) due_ = loop_.after(Duration{0}, [this] { go_on(); });
  }
  void go_on() {
    if (waiting_) std::exchange(waiting_, nullptr).resume();
  }

  loop::Loop& loop_;
  std::optional<T> answer_;
  std::coroutine_handle<> waiting_;
  loop::Timer due_;
  loop::Tasks tasks_;
};

}  // namespace cadre::cli
