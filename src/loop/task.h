/// A coroutine that starts when it is awaited and gives one value to who awaits it. It belongs to one loop's thread;
/// destroying an unfinished one destroys what it holds and awaits. Failing is a value: Task<Result<T>>.
#pragma once

#include <coroutine>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/result.h"
#include "loop/call.h"

namespace cadre::loop {

template <class T>
class Task;

class TaskPromiseBase {
 public:
  std::suspend_always initial_suspend() const noexcept { return {}; }
  auto final_suspend() const noexcept { return Final{}; }
  void unhandled_exception() const { exception_escaped(); }

 private:
  template <class T>
  friend class Task;

  struct Final {
    bool await_ready() const noexcept { return false; }
    template <class Promise>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> finished) const noexcept {
      return finished.promise().awaiting_;
    }
    void await_resume() const noexcept {}
  };

  std::coroutine_handle<> awaiting_ = std::noop_coroutine();
};

template <class T>
class TaskPromise : public TaskPromiseBase {
 public:
  Task<T> get_return_object();
  template <class U>
  void return_value(U&& value) {
    value_.emplace(std::forward<U>(value));
  }
  T take() { return *std::move(value_); }

 private:
  std::optional<T> value_;
};

template <>
class TaskPromise<void> : public TaskPromiseBase {
 public:
  Task<void> get_return_object();
  void return_void() const {}
  void take() const {}
};

template <class T>
class [[nodiscard]] Task {
 public:
  using promise_type = TaskPromise<T>;
  using Handle = std::coroutine_handle<promise_type>;

  explicit Task(Handle handle) : handle_(handle) {}
  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Task& operator=(Task&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Task() {
    if (handle_) handle_.destroy();
  }

  auto operator co_await() && { return Started{handle_}; }

 private:
  struct Started {
    bool await_ready() const { return false; }

    /// Goes on at once when the task ends without suspending: g++ makes a transfer a tail call only when it optimises
    /// without sanitizers, and a long loop over such tasks would otherwise use up the stack.
    bool await_suspend(std::coroutine_handle<> awaiting) const {
      CHECK(handle && !handle.done());
      handle.resume();
      if (handle.done()) return false;
      handle.promise().awaiting_ = awaiting;
      return true;
    }
    T await_resume() const { return handle.promise().take(); }

    Handle handle;
  };

  Handle handle_;
};

template <class T>
Task<T> TaskPromise<T>::get_return_object() {
  return Task<T>(Task<T>::Handle::from_promise(*this));
}

inline Task<void> TaskPromise<void>::get_return_object() { return Task<void>(Task<void>::Handle::from_promise(*this)); }

}  // namespace cadre::loop

/// Evaluates a Result, which may be awaited: CO_TRY(co_await f()); on error the enclosing coroutine returns it.
#define CO_TRY(expression)                                             \
  do {                                                                 \
    auto cadre_try_result = expression;                                \
    if (!cadre_try_result) {                                           \
      co_return ::cadre::Failure(std::move(cadre_try_result).error()); \
    }                                                                  \
  } while (false)

/// Declares `name` as the value of a Result, which may be awaited; on error the enclosing coroutine returns it.
#define CO_TRY_ASSIGN(name, expression)                                                   \
  auto CADRE_CONCAT(cadre_result_, __LINE__) = expression;                                \
  if (!CADRE_CONCAT(cadre_result_, __LINE__)) {                                           \
    co_return ::cadre::Failure(std::move(CADRE_CONCAT(cadre_result_, __LINE__)).error()); \
  }                                                                                       \
  auto name = *std::move(CADRE_CONCAT(cadre_result_, __LINE__))  // NOLINT(bugprone-macro-parentheses): a declaration
