/// Asks the master and waits for the answer on the calling thread, over connections that are kept. Safe on any thread;
/// calls of several threads wait for each other.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "loop/real_loop.h"
#include "loop/task.h"
#include "rest/client.h"

namespace cadre::client {

/// How long something waits for a master that is away, restarts or is overloaded: forever, and it tells the user on
/// standard error from time to time. One thread at a time.
class Patience {
 public:
  /// `what` waits, for messages: "a report waits for the master".
  explicit Patience(std::string what) : what_(std::move(what)) {}
  /// An attempt has failed; for how long to wait before the next one. Nothing: another one cannot succeed.
  std::optional<Duration> after(const Error& error, TimePoint now);
  void succeeded(TimePoint now);

 private:
  const std::string what_;
  std::optional<TimePoint> since_;
  TimePoint notice_at_{};
  bool was_shown_ = false;
  Duration pause_{};
};

class MasterCalls {
 public:
  /// `creation_key` as in rest::Options.
  MasterCalls(rest::Endpoint master, std::int32_t connections_max, std::string creation_key = "");
  MasterCalls(const MasterCalls&) = delete;
  MasterCalls& operator=(const MasterCalls&) = delete;
  ~MasterCalls();

  /// One attempt, repeated only while a connection is lost, for about `wait`.
  template <api::Routed T>
  [[nodiscard]] Result<typename T::Answer> ask(const T& request, Duration wait = rest::answer_max) {
    using Answer = typename T::Answer;
    return run<Answer>([&](rest::Client& client) { return client.ask(request, wait); });
  }
  /// Repeats it until the master has answered, however long it is away; it gets `wait` for one answer. An interrupt of
  /// the user ends it.
  template <api::Routed T>
  [[nodiscard]] Result<typename T::Answer> ask_patiently(const T& request, const std::string& what,
                                                         Duration wait = rest::answer_max) {
    using Answer = typename T::Answer;
    return run<Answer>([&](rest::Client& client) { return insist(client, request, what, wait); });
  }

  /// Runs a task of the client to its end.
  template <class T, class Begin>
  [[nodiscard]] Result<T> run(const Begin& begin) {
    const std::lock_guard lock(mutex_);
    std::optional<Result<T>> result;
    loop_.spawn(settle<T>(begin(client_), result));
    if (!drive([&result] { return result.has_value(); })) return fail(Errc::conflict, "it was interrupted");
    return *std::move(result);
  }

  loop::RealLoop& loop() { return loop_; }

 private:
  template <class T>
  static loop::Task<void> settle(loop::Task<Result<T>> task, std::optional<Result<T>>& into) {
    Result<T> result = co_await std::move(task);
    into.emplace(std::move(result));
  }
  template <api::Routed T>
  static loop::Task<Result<typename T::Answer>> insist(rest::Client& client, const T& request, const std::string& what,
                                                       Duration wait) {
    Patience patience(what);
    for (;;) {
      Result<typename T::Answer> answer = co_await client.ask(request, wait);
      const TimePoint now = client.loop().now();
      const std::optional<Duration> pause = answer ? std::nullopt : patience.after(answer.error(), now);
      if (!pause) {
        if (answer) patience.succeeded(now);
        co_return answer;
      }
      co_await loop::sleep(client.loop(), *pause);
    }
  }
  bool drive(const std::function<bool()>& done);

  std::mutex mutex_;
  loop::RealLoop loop_;
  rest::Client client_;
};

}  // namespace cadre::client
