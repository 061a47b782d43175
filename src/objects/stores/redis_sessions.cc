#include "objects/stores/redis_sessions.h"

#include <algorithm>
#include <utility>

#include "objects/stores/attempts.h"
#include "objects/stores/run_task.h"

namespace cadre::objects {

using net::redis::RedisLink;
using net::redis::RedisUrl;
using net::redis::Reply;

namespace {

constexpr Duration connect_wait_max = std::chrono::seconds(3);

}  // namespace

RedisSessions::Session::Session(const RedisUrl& url, Duration timeout)
    : link(loop, url, {.answer_wait = timeout, .backoff_max = std::chrono::milliseconds(500), .channel = ""},
           {[] {}, [](const std::string&) {}}) {}

RedisSessions::RedisSessions(RedisUrl url, Duration timeout, const StoreOptions& options)
    : url_(std::move(url)),
      timeout_(timeout),
      options_(options),
      sessions_(options.sessions_max, [this] { return std::make_unique<Session>(url_, timeout_); }) {}

Result<Reply> RedisSessions::ask(const Words& words) {
  return attempt(options_, [&] { return ask_once(words); });
}

Result<Reply> RedisSessions::ask_once(const Words& words) {
  const auto session = sessions_.borrow();
  const auto run = [&](auto task, TimePoint end) {
    // The link ends by itself at its deadline, with better words.
    return run_task(session->loop, std::move(task), end + std::chrono::seconds(1));
  };
  const TimePoint begin = session->loop.now();
  const TimePoint connected = begin + std::min<Duration>(timeout_, connect_wait_max);
  if (const auto ready = run(session->link.ready(connected), connected); ready && !*ready) {
    return Failure(ready->error());
  }
  const TimePoint end = session->loop.now() + timeout_;
  auto reply = run(session->link.ask(words, end), end);
  if (!reply) return fail(Errc::timed_out, "Redis at " + url_.host + " has not answered in time");
  return *std::move(reply);
}

}  // namespace cadre::objects
