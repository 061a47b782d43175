/// Where names are kept: what each kind of backend does for the session that is its only user. For the loop's thread.
/// Every task ends by its deadline. Arguments by reference live until the task ends.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "loop/task.h"
#include "names/entry.h"

namespace cadre::names {

constexpr Duration first_look_wait = std::chrono::seconds(1);

class Backend {
 public:
  virtual ~Backend() = default;

  /// The epoch of the ownership: the old one for who has the key already, and that is no conflict.
  [[nodiscard]] virtual loop::Task<Result<Epoch>> put(const Claim& claim, PutMode mode, TimePoint deadline) = 0;
  /// Keeps entries alive for another TTL each; how it stands with each of them, in their order. Values do not count.
  [[nodiscard]] virtual loop::Task<Result<std::vector<Hold>>> keep(const std::vector<Claim>& claims,
                                                                   TimePoint deadline) = 0;
  /// Puts back what is gone. `conflict` when it is lost.
  [[nodiscard]] virtual loop::Task<Result<Epoch>> restore(const Claim& claim, TimePoint deadline) = 0;

  [[nodiscard]] virtual loop::Task<Result<Entry>> get(const std::string& key, TimePoint deadline) = 0;
  [[nodiscard]] virtual loop::Task<Result<std::vector<Entry>>> list(const std::string& prefix, TimePoint deadline) = 0;
  [[nodiscard]] virtual loop::Task<Result<void>> remove(const std::string& key, TimePoint deadline) = 0;
  [[nodiscard]] virtual loop::Task<Result<std::size_t>> remove_subtree(const std::string& prefix,
                                                                       TimePoint deadline) = 0;

  /// How it stands below the prefix: at once for an empty cursor, else when something may have changed since.
  /// At `until` the answer may be that nothing has. The first look has first_look_wait, however soon that is.
  [[nodiscard]] virtual loop::Task<Result<News>> news(const std::string& prefix, const Cursor& since,
                                                      TimePoint until) = 0;

  /// Removes these if they are the session's, soon and without waiting, after what was asked before: what it takes for
  /// that keeps itself alive. `done` is called when it was tried, unless the loop ends first.
  virtual void release(std::vector<std::string> keys, std::function<void()> done) = 0;
  /// The session has ended. The last call.
  virtual void end() = 0;

  /// Is called when a lost backend was found again, which may have forgotten everything.
  void on_found(std::function<void()> call) { found_ = std::move(call); }

 protected:
  void tell_found() const {
    if (found_) found_();
  }

 private:
  std::function<void()> found_;
};

[[nodiscard]] inline Failure nobody_has(const std::string& key) {
  return fail(Errc::not_found, "there is no name " + key);
}

}  // namespace cadre::names
