/// A bounded queue into one loop: push() and close() are for any thread, one coroutine on the loop receives. What one
/// thread pushes arrives in its order. Must not outlive its loop; no push may be under way when it ends.
#pragma once

#include <algorithm>
#include <coroutine>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/check.h"
#include "base/result.h"
#include "loop/loop.h"

namespace cadre::loop {

struct InboxOptions {
  std::string name;  ///< as errors and counters call it
  std::size_t items_max = 0;
  ByteSize bytes_max{std::numeric_limits<std::int64_t>::max()};  ///< needs a size_of
};

struct InboxCounters {
  std::uint64_t pushed = 0;
  std::uint64_t refused = 0;
  std::size_t items_most = 0;  ///< high-water marks
  ByteSize bytes_most;
};

/// How full an inbox is, and why it takes no more. Guarded by the inbox.
class InboxLevel {
 public:
  explicit InboxLevel(InboxOptions options);

  [[nodiscard]] Result<void> add(ByteSize size);
  void empty() { items_ = 0, bytes_ = {}; }
  void close() { closed_ = true; }
  [[nodiscard]] bool closed() const { return closed_; }
  [[nodiscard]] const InboxCounters& counters() const { return counters_; }

 private:
  const InboxOptions options_;
  std::size_t items_ = 0;
  ByteSize bytes_;
  bool closed_ = false;
  InboxCounters counters_;
};

template <class T>
class Inbox {
 public:
  using SizeOf = std::function<ByteSize(const T&)>;  ///< called on the pusher's thread

  Inbox(Loop& loop, InboxOptions options, SizeOf size_of = nullptr)
      : state_(std::make_shared<State>(loop, std::move(options))), size_of_(std::move(size_of)) {}
  Inbox(const Inbox&) = delete;
  Inbox& operator=(const Inbox&) = delete;

  /// Refused with unavailable when the inbox is full or closed, with invalid when the item alone is over the bound.
  [[nodiscard]] Result<void> push(T item);

  /// Takes no more; what is inside can still be received.
  void close();

  class Received;
  /// co_await inbox.receive_all(): everything inside, in order, once there is something; nothing only when the inbox
  /// is closed and drained. The loop always turns once, so a full inbox does not starve what else the loop runs.
  Received receive_all() { return Received(state_); }

  [[nodiscard]] InboxCounters counters() const {
    const std::lock_guard lock(state_->mutex);
    return state_->level.counters();
  }

 private:
  struct State;
  static void post_wake(const std::shared_ptr<State>& state);

  std::shared_ptr<State> state_;  // shared with wakes on their way and with who receives: they may outlive the inbox
  SizeOf size_of_;
};

template <class T>
struct Inbox<T>::State {
  State(Loop& l, InboxOptions options) : loop(l), level(std::move(options)) {}

  bool has_news() const { return !items.empty() || level.closed(); }

  /// Whether the caller, once it has let go of the mutex, is to post a wake.
  bool claim_wake() { return receiver && has_news() && !std::exchange(wake_posted, true); }

  Loop& loop;
  std::mutex mutex;
  InboxLevel level;
  std::vector<T> items;
  std::coroutine_handle<> receiver;  // set and cleared by the loop's thread
  bool wake_posted = false;
};

template <class T>
Result<void> Inbox<T>::push(T item) {
  const ByteSize size = size_of_ ? size_of_(item) : ByteSize{};
  std::unique_lock lock(state_->mutex);
  TRY(state_->level.add(size));
  state_->items.push_back(std::move(item));
  const bool wake = state_->claim_wake();
  lock.unlock();
  if (wake) post_wake(state_);
  return {};
}

template <class T>
void Inbox<T>::close() {
  std::unique_lock lock(state_->mutex);
  state_->level.close();
  const bool wake = state_->claim_wake();
  lock.unlock();
  if (wake) post_wake(state_);
}

template <class T>
void Inbox<T>::post_wake(const std::shared_ptr<State>& state) {
  state->loop.post([state] {
    std::unique_lock lock(state->mutex);
    state->wake_posted = false;
    if (!state->has_news()) return;  // meant for a receiver that is gone
    const std::coroutine_handle<> receiver = std::exchange(state->receiver, nullptr);
    lock.unlock();
    if (receiver) receiver.resume();
  });
}

template <class T>
class [[nodiscard]] Inbox<T>::Received {
 public:
  explicit Received(std::shared_ptr<State> state) : state_(std::move(state)) {}
  Received(const Received&) = delete;
  Received& operator=(const Received&) = delete;
  ~Received() {
    if (!waits_) return;
    const std::lock_guard lock(state_->mutex);
    state_->receiver = nullptr;
  }

  bool await_ready() const { return false; }
  void await_suspend(std::coroutine_handle<> receiver) {
    std::unique_lock lock(state_->mutex);
    CHECK(!state_->receiver);  // one receives
    waits_ = true;
    state_->receiver = receiver;
    const bool wake = state_->claim_wake();
    lock.unlock();
    if (wake) post_wake(state_);
  }
  std::vector<T> await_resume() {
    waits_ = false;
    const std::lock_guard lock(state_->mutex);
    state_->level.empty();
    return std::exchange(state_->items, {});
  }

 private:
  std::shared_ptr<State> state_;
  bool waits_ = false;
};

}  // namespace cadre::loop
