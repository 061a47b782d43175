/// What becomes of a message that its sender does not wait for: there once, then it stays. Safe on any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/result.h"
#include "remote/note.h"

namespace cadre::client {

class Promise {
 public:
  using Call = std::function<void()>;

  [[nodiscard]] bool is_there() const {
    const std::lock_guard lock(mutex_);
    return outcome_.has_value();
  }
  /// Once it is there.
  [[nodiscard]] Result<remote::Note> outcome() const {
    const std::lock_guard lock(mutex_);
    return *outcome_;
  }
  /// The first outcome counts. Gives the calls that waited for it.
  [[nodiscard]] std::vector<Call> complete(Result<remote::Note> outcome) {
    const std::lock_guard lock(mutex_);
    if (outcome_) return {};
    outcome_ = std::move(outcome);
    return std::exchange(calls_, {});
  }
  /// False: it is there already, and the call is left to the caller.
  [[nodiscard]] bool add(const Call& call) {
    const std::lock_guard lock(mutex_);
    if (outcome_) return false;
    calls_.push_back(call);
    return true;
  }

 private:
  mutable std::mutex mutex_;
  std::optional<Result<remote::Note>> outcome_;
  std::vector<Call> calls_;
};

}  // namespace cadre::client
