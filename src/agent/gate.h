/// Lets coroutines wait until something is done. For the loop's thread; must outlive who waits.
#pragma once

#include <coroutine>
#include <list>

#include "loop/loop.h"

namespace cadre::agent {

class Gate {
 public:
  explicit Gate(loop::Loop& loop) : loop_(loop) {}
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  /// From now on nobody waits. Who did goes on soon, never inside this function.
  void open() {
    is_open_ = true;
    for (Passed* waiting : waiting_) waiting->wake();
  }

  class [[nodiscard]] Passed {
   public:
    explicit Passed(Gate& gate) : gate_(gate) {}
    Passed(const Passed&) = delete;
    Passed& operator=(const Passed&) = delete;
    ~Passed() { gate_.waiting_.remove(this); }

    bool await_ready() const { return gate_.is_open_; }
    void await_suspend(std::coroutine_handle<> waiting) {
      handle_ = waiting;
      gate_.waiting_.push_back(this);
    }
    void await_resume() const {}

   private:
    friend class Gate;
    void wake() {
      wake_ = gate_.loop_.after(Duration(0), [this] { handle_.resume(); });
    }

    Gate& gate_;
    std::coroutine_handle<> handle_;
    loop::Timer wake_;
  };
  /// co_await gate.passed()
  Passed passed() { return Passed(*this); }

 private:
  loop::Loop& loop_;
  bool is_open_ = false;
  std::list<Passed*> waiting_;
};

}  // namespace cadre::agent
