/// How often something is tried that a fault which passes may have stopped. A value; one thread at a time; next()
/// blocks.
#pragma once

#include <thread>

#include "base/result.h"
#include "loop/backoff.h"
#include "objects/store.h"

namespace cadre::objects {

class Attempts {
 public:
  explicit Attempts(const StoreOptions& options)
      : most_(options.attempts_max), backoff_(options.backoff_max, options.backoff_first) {}

  /// Waits for the next attempt; false when there were enough.
  bool next() {
    if (++made_ >= most_) return false;
    std::this_thread::sleep_for(backoff_.next());
    return true;
  }

  /// The last attempt has achieved something: it does not count.
  void progress() {
    made_ = 0;
    backoff_.reset();
  }

 private:
  const std::int32_t most_;
  std::int32_t made_ = 0;
  loop::Backoff backoff_;
};

/// Whether an error of a connection may pass by itself: no server there, or it was lost.
inline bool is_transient(const Error& error) {
  return error.code == Errc::unavailable || error.code == Errc::timed_out;
}

/// Calls something until it succeeds, fails for good, or was tried often enough; gives its last result.
template <class Call>
auto attempt(const StoreOptions& options, Call call) {
  Attempts attempts(options);
  while (true) {
    auto result = call();
    if (result || !is_transient(result.error()) || !attempts.next()) return result;
  }
}

}  // namespace cadre::objects
