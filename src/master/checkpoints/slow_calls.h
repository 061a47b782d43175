/// Runs calls that may take long on threads of its own, and keeps their outcomes until somebody asks for them again: so
/// a store that hangs holds up nobody but those who use it. Safe on any thread.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace cadre::master {

struct SlowCallLimits {
  std::size_t threads = 4;
  std::size_t waiting_max = 10'000;
  std::size_t outcomes_max = 1'000;  ///< that nobody has asked for yet; the oldest goes
};

template <class T>
class SlowCalls {
 public:
  using Call = std::function<Result<T>()>;

  explicit SlowCalls(const SlowCallLimits& limits) : limits_(limits) {
    for (std::size_t i = 0; i < limits.threads; ++i) {
      threads_.emplace_back([this](const std::stop_token& stopped) { work(stopped); });
    }
  }
  SlowCalls(const SlowCalls&) = delete;
  SlowCalls& operator=(const SlowCalls&) = delete;
  ~SlowCalls() {
    for (std::jthread& thread : threads_) thread.request_stop();
    changed_.notify_all();
    threads_.clear();
  }

  /// Begins the call of this name, unless it has begun, and waits for its end for a short time. Nothing: it is under
  /// way. Its outcome is told once; then the next one to ask begins it again.
  [[nodiscard]] std::optional<Result<T>> ask(const std::string& name, Call call, Duration wait_max) {
    std::unique_lock lock(mutex_);
    if (calls_.contains(name)) {
      wait_max = {};  // those who ask again and again do not hold up others
    } else if (waiting_.size() >= limits_.waiting_max) {
      return Result<T>(fail(Errc::unavailable, "too many files are being moved; try again later"));
    } else {
      calls_.emplace(name, State{std::move(call), false, std::nullopt});
      waiting_.push_back(name);
      changed_.notify_all();
    }
    const auto is_over = [&] {
      const auto found = calls_.find(name);
      return found == calls_.end() || found->second.outcome.has_value();
    };
    if (!changed_.wait_for(lock, wait_max, is_over)) return std::nullopt;
    const auto found = calls_.find(name);
    if (found == calls_.end()) return Result<T>(fail(Errc::unavailable, "it was given up; try again"));
    Result<T> outcome = *std::move(found->second.outcome);
    calls_.erase(found);
    std::erase(finished_, name);
    return outcome;
  }

  /// Gives up the calls whose names begin so; when this returns none of them is at work.
  void cancel(std::string_view prefix) {
    std::unique_lock lock(mutex_);
    const auto is_one = [&](const std::string& name) { return name.starts_with(prefix); };
    std::erase_if(waiting_, is_one);
    std::erase_if(finished_, is_one);
    std::erase_if(calls_, [&](const auto& one) { return is_one(one.first) && !one.second.is_at_work; });
    changed_.notify_all();
    changed_.wait(lock, [&] {
      return std::none_of(calls_.begin(), calls_.end(),
                          [&](const auto& one) { return is_one(one.first) && one.second.is_at_work; });
    });
    std::erase_if(finished_, is_one);
    std::erase_if(calls_, [&](const auto& one) { return is_one(one.first); });
  }

  /// Whether there are calls whose names end so, or outcomes of them.
  [[nodiscard]] bool has(std::string_view suffix) {
    const std::lock_guard lock(mutex_);
    return std::any_of(calls_.begin(), calls_.end(), [&](const auto& one) { return one.first.ends_with(suffix); });
  }

 private:
  struct State {
    Call call;
    bool is_at_work = false;
    std::optional<Result<T>> outcome;
  };

  void work(const std::stop_token& stopped) {
    std::unique_lock lock(mutex_);
    while (changed_.wait(lock, stopped, [this] { return !waiting_.empty(); })) {
      if (stopped.stop_requested()) return;
      const std::string name = std::move(waiting_.front());
      waiting_.pop_front();
      State& state = calls_.at(name);
      state.is_at_work = true;
      lock.unlock();
      Result<T> outcome = state.call();  // what is at work is not erased
      lock.lock();
      state.is_at_work = false;
      state.outcome = std::move(outcome);
      finished_.push_back(name);
      if (finished_.size() > limits_.outcomes_max) {
        calls_.erase(finished_.front());
        finished_.pop_front();
      }
      changed_.notify_all();
    }
  }

  const SlowCallLimits limits_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<std::string> waiting_;
  std::deque<std::string> finished_;  ///< the oldest first
  std::map<std::string, State> calls_;
  std::vector<std::jthread> threads_;
};

}  // namespace cadre::master
