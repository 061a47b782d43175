/// One connection to Redis that comes back by itself: logs in, asks many things at a time, and may listen to a channel.
/// For the loop's thread.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "loop/backoff.h"
#include "loop/pending.h"
#include "loop/real_loop.h"
#include "loop/task.h"
#include "net/redis/redis_url.h"
#include "net/redis/resp.h"
#include "net/stream.h"

namespace cadre::net::redis {

struct RedisLinkOptions {
  Duration answer_wait = std::chrono::seconds(5);  ///< a server that is silent for so long is called anew
  Duration backoff_max = std::chrono::seconds(2);
  std::string channel;  ///< to listen to; then nothing can be asked
};

class RedisLink final : public net::Stream::User {
 public:
  struct Ears {
    std::function<void()> ready;                    ///< each time it is connected
    std::function<void(const std::string&)> heard;  ///< what is said on the channel
  };

  /// Begins to connect.
  RedisLink(loop::RealLoop& loop, const RedisUrl& url, RedisLinkOptions options, Ears ears);
  RedisLink(const RedisLink&) = delete;
  RedisLink& operator=(const RedisLink&) = delete;
  ~RedisLink() override;

  /// Goes on when it is connected. `unavailable` when that is not before the deadline, or at once why it never will.
  [[nodiscard]] loop::Task<Result<void>> ready(TimePoint deadline);

  /// What the server says to a command, once it is connected. What it says of an error is one.
  [[nodiscard]] loop::Task<Result<Reply>> ask(std::vector<std::string> words, TimePoint deadline);

 private:
  struct PendingCommand {
    loop::Pending<Reply> pending;
    TimePoint since;
  };

  void connect();
  void opened() override;
  void received(std::string_view bytes) override;
  void lost(Error error) override;
  void send(const std::vector<std::string>& words, loop::Pending<Reply> pending);
  void take(Reply reply);
  void log_in_on(const Reply& reply);
  void watch_answers();
  void ping();
  void settle_waiting(const Result<void>& result);
  bool listens() const { return !options_.channel.empty(); }
  std::string where() const { return url_.host + ":" + std::to_string(url_.port); }

  loop::RealLoop& loop_;
  const RedisUrl url_;
  const RedisLinkOptions options_;
  const Ears ears_;
  std::unique_ptr<net::Stream> stream_;
  std::optional<RespReader> reader_;
  std::size_t login_left_ = 0;  // answers until it is ready
  bool is_ready_ = false;
  Error trouble_;                 // why it is not
  std::optional<Error> refused_;  // why it cannot be before somebody changes something
  std::deque<PendingCommand> asked_;
  std::vector<loop::Pending<void>> waiting_;
  loop::Backoff backoff_;
  loop::Timer again_;
  loop::Timer silence_;
  loop::Timer next_ping_;
};

/// The kinds of errors that Redis knows, as ours.
[[nodiscard]] Error error_of(const RespError& error, const std::string& where);

}  // namespace cadre::net::redis
