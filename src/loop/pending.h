/// A result that one coroutine awaits until a deadline and that somebody else gives, or not. For the loop's thread;
/// either side may end first.
#pragma once

#include <coroutine>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/result.h"
#include "base/time.h"
#include "loop/loop.h"

namespace cadre::loop {

template <class T>
class Pending {
 public:
  explicit Pending(Loop& loop) : state_(std::make_shared<State>(loop)) {}

  /// The first one counts. Who waits goes on soon, never inside this function.
  void settle(Result<T> result) const {
    if (state_->result) return;
    state_->result.emplace(std::move(result));
    if (state_->within != nullptr) state_->within->go_on();
  }

  /// Whether there is a result, be it that nobody waits for one any more.
  bool is_settled() const { return state_->result.has_value(); }

  class Within;
  /// co_await pending.within(deadline, "what did not come"): the result, or timed_out, after which it counts as
  /// settled.
  Within within(TimePoint deadline, std::string late) const { return Within(state_, deadline, std::move(late)); }

 private:
  struct State {
    explicit State(Loop& l) : loop(l) {}
    Loop& loop;
    std::optional<Result<T>> result;
    Within* within = nullptr;
  };
  std::shared_ptr<State> state_;  // shared by who gives and who takes
};

template <class T>
class [[nodiscard]] Pending<T>::Within {
 public:
  Within(std::shared_ptr<State> state, TimePoint deadline, std::string late)
      : state_(std::move(state)), deadline_(deadline), late_(std::move(late)) {}
  Within(const Within&) = delete;
  Within& operator=(const Within&) = delete;
  ~Within() {
    state_->within = nullptr;
    give_up();
  }

  bool await_ready() const { return state_->result.has_value(); }
  void await_suspend(std::coroutine_handle<> waiting) {
    CHECK(state_->within == nullptr);
    state_->within = this;
    waiting_ = waiting;
    timer_ = state_->loop.at(deadline_, [this] {
      give_up();
      waiting_.resume();
    });
  }
  Result<T> await_resume() { return *state_->result; }

 private:
  friend class Pending;
  void go_on() {
    timer_ = state_->loop.after(Duration::zero(), [this] { waiting_.resume(); });
  }
  void give_up() {
    if (!state_->result) state_->result.emplace(fail(Errc::timed_out, late_));
  }

  const std::shared_ptr<State> state_;
  const TimePoint deadline_;
  const std::string late_;
  std::coroutine_handle<> waiting_;
  Timer timer_;
};

}  // namespace cadre::loop
