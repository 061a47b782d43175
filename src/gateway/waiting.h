/// Requests that wait for replies from another thread, identified by numbers. For the loop's thread.
#pragma once

#include <coroutine>
#include <cstdint>
#include <functional>
#include <optional>
#include <unordered_map>
#include <utility>

#include "api/service.h"

namespace cadre::gateway {

template <class T>
class Waiting {
 public:
  using Take = std::function<void(T)>;
  using Forget = std::function<void(api::CallId)>;

  /// `forget` tells the other side that nobody waits for this any more.
  explicit Waiting(Forget forget) : forget_(std::move(forget)) {}

  /// For one answer.
  api::CallId add(Take take) { return insert(std::move(take), Times::once); }
  /// For any number, until forget().
  api::CallId add_for_all(Take take) { return insert(std::move(take), Times::often); }

  void tell(api::CallId call, T told) {
    const auto found = waiting_.find(call);
    if (found == waiting_.end()) return;
    Take take = found->second.take;  // a copy: what it does may end this wait
    if (found->second.times == Times::once) waiting_.erase(found);
    take(std::move(told));
  }

  void forget(api::CallId call) {
    if (waiting_.erase(call) > 0) forget_(call);
  }

  /// The same for a request that waits for one reply: it gets this one instead.
  void dismiss(api::CallId call, T told) {
    if (!waiting_.contains(call)) return;
    forget_(call);
    tell(call, std::move(told));
  }

  class Answer;
  /// co_await ask(send): `send` is given the number under which the answer must come.
  template <class Send>
  [[nodiscard]] Answer ask(Send send) {
    return Answer(*this, std::move(send));
  }

 private:
  enum class Times : std::uint8_t { once, often };
  struct Entry {
    Take take;
    Times times;
  };
  api::CallId insert(Take take, Times times) {
    waiting_.emplace(++last_, Entry{std::move(take), times});
    return last_;
  }

  Forget forget_;
  api::CallId last_ = 0;
  std::unordered_map<api::CallId, Entry> waiting_;
};

template <class T>
class [[nodiscard]] Waiting<T>::Answer {
 public:
  Answer(Waiting& waiting, std::function<void(api::CallId)> send) : waiting_(waiting), send_(std::move(send)) {}
  Answer(const Answer&) = delete;
  Answer& operator=(const Answer&) = delete;
  ~Answer() {
    if (call_ != 0) waiting_.forget(call_);
  }

  bool await_ready() const { return false; }
  void await_suspend(std::coroutine_handle<> resumed) {
    call_ = waiting_.add([this, resumed](T told) {
      call_ = 0;
      told_.emplace(std::move(told));
      resumed.resume();
    });
    send_(call_);
  }
  T await_resume() { return *std::move(told_); }

 private:
  Waiting& waiting_;
  std::function<void(api::CallId)> send_;
  api::CallId call_ = 0;
  std::optional<T> told_;
};

}  // namespace cadre::gateway
