#include "net/redis/redis_link.h"

#include <utility>

namespace cadre::net::redis {

namespace {

constexpr std::size_t asked_max = 4'096;

bool begins_with_any(std::string_view text, std::initializer_list<std::string_view> words) {
  for (const std::string_view word : words) {
    if (text.starts_with(word)) return true;
  }
  return false;
}

}  // namespace

Error error_of(const RespError& error, const std::string& where) {
  if (begins_with_any(error.text, {"NOAUTH", "WRONGPASS", "NOPERM", "ERR AUTH", "ERR invalid password"})) {
    return {Errc::denied, "Redis at " + where + " refused the login: " + error.text +
                              "; check user, password and ACL, which must allow EVAL, PUBLISH and SUBSCRIBE"};
  }
  if (begins_with_any(error.text, {"ERR DB index"})) {
    return {Errc::invalid, "Redis at " + where + " has no such database: " + error.text};
  }
  return {Errc::unavailable, "Redis at " + where + " responded: " + error.text};
}

RedisLink::RedisLink(loop::RealLoop& loop, const RedisUrl& url, RedisLinkOptions options, Ears ears)
    : loop_(loop), url_(url), options_(std::move(options)), ears_(std::move(ears)), backoff_(options_.backoff_max) {
  trouble_ = {Errc::unavailable, "not connected yet"};
  connect();
}

RedisLink::~RedisLink() = default;

void RedisLink::connect() {
  net::StreamOptions stream;
  stream.host = url_.host;
  stream.port = url_.port;
  stream.is_tls = url_.is_tls;
  stream.ca_file = url_.ca_file;
  stream.connect_wait = options_.answer_wait;
  reader_.emplace(RespLimits{});
  stream_ = std::make_unique<net::Stream>(loop_, std::move(stream), *this);
}

/// The ping shows that the server itself responds, not only the kernel of its host.
void RedisLink::opened() {
  std::vector<std::vector<std::string>> login;
  if (!url_.password.empty() && url_.user.empty()) login.push_back({"AUTH", url_.password});
  if (!url_.password.empty() && !url_.user.empty()) login.push_back({"AUTH", url_.user, url_.password});
  if (url_.db != 0) login.push_back({"SELECT", std::to_string(url_.db)});
  login.push_back({"PING"});
  if (listens()) login.push_back({"SUBSCRIBE", options_.channel});
  login_left_ = login.size();
  silence_ = loop_.after(options_.answer_wait, [this] {
    lost({Errc::unavailable, where() + ": it does not respond"});
  });
  for (const std::vector<std::string>& words : login) stream_->send(write_command(words));
}

void RedisLink::received(std::string_view bytes) {
  std::vector<Reply> replies;
  const Result<void> read = reader_->take(bytes, replies);
  for (Reply& reply : replies) {
    if (!stream_) return;
    take(std::move(reply));
  }
  if (!read && stream_) lost({Errc::unavailable, where() + ": " + read.error().message});
}

void RedisLink::take(Reply reply) {
  if (login_left_ > 0) return log_in_on(reply);
  if (const RespArray* words = reply.array(); listens() && words != nullptr && words->size() == 3) {
    const std::string* kind = words->at(0).text();
    const std::string* said = words->at(2).text();
    if (kind != nullptr && *kind == "message" && said != nullptr) return ears_.heard(*said);
  }
  if (asked_.empty()) return lost({Errc::unavailable, where() + ": it sent a reply without a request"});
  const loop::Pending<Reply> pending = std::move(asked_.front().pending);
  asked_.pop_front();
  watch_answers();
  if (const RespError* error = reply.error()) return pending.settle(Failure(error_of(*error, where())));
  pending.settle(std::move(reply));
}

void RedisLink::log_in_on(const Reply& reply) {
  if (const RespError* error = reply.error()) return lost(error_of(*error, where()));
  if (--login_left_ > 0) return;
  is_ready_ = true;
  refused_.reset();
  backoff_.reset();
  watch_answers();
  if (listens()) ping();
  settle_waiting({});
  ears_.ready();
}

/// Tells those who wait that they can, or that they wait in vain.
void RedisLink::settle_waiting(const Result<void>& result) {
  for (const loop::Pending<void>& waiting : std::exchange(waiting_, {})) waiting.settle(result);
}

void RedisLink::lost(Error error) {
  stream_.reset();
  is_ready_ = false;
  login_left_ = 0;
  silence_.cancel();
  next_ping_.cancel();
  for (const PendingCommand& asked : std::exchange(asked_, {})) {
    asked.pending.settle(fail(Errc::timed_out, "Redis was lost before it answered (" + error.message + ")"));
  }
  trouble_ = error;
  if (error.code == Errc::denied || error.code == Errc::invalid) {
    refused_ = std::move(error);
    settle_waiting(Failure(*refused_));
  }
  again_ = loop_.after(backoff_.next(), [this] { connect(); });
}

/// When the oldest question has waited for too long, the others will too.
void RedisLink::watch_answers() {
  silence_.cancel();
  if (asked_.empty()) return;
  silence_ = loop_.at(asked_.front().since + options_.answer_wait, [this] {
    lost({Errc::unavailable, where() + ": it does not respond"});
  });
}

/// Who only listens would not hear that the other end is gone.
void RedisLink::ping() {
  next_ping_ = loop_.after(options_.answer_wait, [this] {
    send({"PING"}, loop::Pending<Reply>(loop_));
    ping();
  });
}

void RedisLink::send(const std::vector<std::string>& words, loop::Pending<Reply> pending) {
  asked_.push_back({std::move(pending), loop_.now()});
  if (asked_.size() == 1) watch_answers();
  stream_->send(write_command(words));
}

loop::Task<Result<void>> RedisLink::ready(TimePoint deadline) {
  while (!is_ready_) {
    if (refused_) co_return Failure(*refused_);
    std::erase_if(waiting_, [](const loop::Pending<void>& waiting) { return waiting.is_settled(); });
    const loop::Pending<void> pending(loop_);
    waiting_.push_back(pending);
    Result<void> came = co_await pending.within(deadline, "");
    if (!came && came.error().code != Errc::timed_out) co_return came;
    if (!came) co_return fail(Errc::unavailable, "Redis cannot be reached: " + trouble_.message);
  }
  co_return Result<void>();
}

loop::Task<Result<Reply>> RedisLink::ask(std::vector<std::string> words, TimePoint deadline) {
  CO_TRY(co_await ready(deadline));
  if (asked_.size() >= asked_max) {
    co_return fail(Errc::unavailable, where() + ": too many requests wait for a reply; try again later");
  }
  const loop::Pending<Reply> pending(loop_);
  send(words, pending);
  co_return co_await pending.within(deadline, "Redis at " + where() + " has not answered in time");
}

}  // namespace cadre::net::redis
