#include "names/redis/redis_backend.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <span>
#include <utility>

#include "loop/pending.h"
#include "names/redis/commands.h"
#include "names/session_name.h"
#include "net/redis/redis_link.h"

namespace cadre::names {

namespace {

using net::redis::RedisLink;
using net::redis::RedisLinkOptions;

constexpr std::size_t batch_max = 128;    // entries that it keeps alive or removes in one step
constexpr std::size_t heard_max = 1'024;  // changes that are remembered for who is not listening just now
constexpr Duration again_min = std::chrono::milliseconds(20);

class RedisBackend final : public Backend, public std::enable_shared_from_this<RedisBackend> {
 public:
  RedisBackend(loop::RealLoop& loop, const RedisUrl& url, const Options& options)
      : loop_(loop),
        url_(url),
        options_(options),
        commands_(url, new_session_name()),
        link_(loop, url, link_options(""), {[this] { tell_found(); }, [](const std::string&) {}}) {}

  loop::Task<Result<Epoch>> put(const Claim& claim, PutMode mode, TimePoint deadline) override;
  loop::Task<Result<std::vector<Hold>>> keep(const std::vector<Claim>& claims, TimePoint deadline) override;
  loop::Task<Result<Epoch>> restore(const Claim& claim, TimePoint deadline) override;
  loop::Task<Result<Entry>> get(const std::string& key, TimePoint deadline) override;
  loop::Task<Result<std::vector<Entry>>> list(const std::string& prefix, TimePoint deadline) override;
  loop::Task<Result<void>> remove(const std::string& key, TimePoint deadline) override;
  loop::Task<Result<std::size_t>> remove_subtree(const std::string& prefix, TimePoint deadline) override;
  loop::Task<Result<News>> news(const std::string& prefix, const Cursor& since, TimePoint until) override;
  void release(std::vector<std::string> keys, std::function<void()> done) override;
  void end() override { ear_.reset(); }

 private:
  struct Listener {
    std::string prefix;
    loop::Pending<void> pending;
  };

  RedisLinkOptions link_options(std::string heard_channel) const {
    return {options_.op_wait, options_.backoff_max, std::move(heard_channel)};
  }
  loop::Task<Result<void>> keep_all(const std::vector<Claim>& claims, std::vector<Hold>& holds, TimePoint deadline);
  loop::Task<Result<Listed>> look(const std::string& prefix, TimePoint deadline);
  loop::Task<Result<void>> look_at(RedisRange& range, Listed& listed, TimePoint deadline);
  loop::Task<Result<std::size_t>> remove_keys(const std::vector<std::string>& keys, RedisCommands::Whose whose,
                                              TimePoint deadline);
  static loop::Task<void> release_all(std::shared_ptr<RedisBackend> self, std::vector<std::string> keys,
                                      std::function<void()> done);
  void listen();
  void heard(const std::string& key);
  void heard_anything();
  bool has_heard(const std::string& prefix, std::uint64_t since) const;

  loop::RealLoop& loop_;
  const RedisUrl url_;
  const Options options_;
  const RedisCommands commands_;
  Epoch largest_;  // that we have seen
  RedisLink link_;
  std::optional<RedisLink> ear_;  // once somebody wants news
  std::uint64_t heard_count_ = 1;
  std::uint64_t heard_oldest_ = 1;  // later ones are known by their keys
  std::deque<std::string> heard_;
  std::vector<Listener> listeners_;
};

loop::Task<Result<Epoch>> RedisBackend::put(const Claim& claim, PutMode mode, TimePoint deadline) {
  RedisCommands::Words words = commands_.put(claim, mode, largest_);
  CO_TRY_ASSIGN(reply, co_await link_.ask(std::move(words), deadline));
  CO_TRY_ASSIGN(epoch, read_epoch(reply, "the name " + claim.key + " already exists"));
  largest_ = std::max(largest_, epoch);
  co_return epoch;
}

loop::Task<Result<Epoch>> RedisBackend::restore(const Claim& claim, TimePoint deadline) {
  RedisCommands::Words words = commands_.restore(claim);
  CO_TRY_ASSIGN(reply, co_await link_.ask(std::move(words), deadline));
  co_return read_epoch(reply, "the name " + claim.key + " was taken over by another process, or removed");
}

loop::Task<Result<std::vector<Hold>>> RedisBackend::keep(const std::vector<Claim>& claims, TimePoint deadline) {
  std::vector<Hold> holds;
  CO_TRY(co_await keep_all(claims, holds, deadline));
  co_return holds;
}

/// Apart from keep(), which g++ 12 gets wrong (-ftree-slp-vectorize) when it fills and gives the same vector.
loop::Task<Result<void>> RedisBackend::keep_all(const std::vector<Claim>& claims, std::vector<Hold>& holds,
                                                TimePoint deadline) {
  while (holds.size() < claims.size()) {
    const std::span<const Claim> rest = std::span(claims).subspan(holds.size());
    const std::size_t count = std::min(batch_max, rest.size());
    RedisCommands::Words words = commands_.keep(rest.first(count));
    CO_TRY_ASSIGN(reply, co_await link_.ask(std::move(words), deadline));
    CO_TRY(read_holds(reply, count, holds));
  }
  co_return Result<void>();
}

loop::Task<Result<Entry>> RedisBackend::get(const std::string& key, TimePoint deadline) {
  RedisCommands::Words words = commands_.get(key);
  CO_TRY_ASSIGN(reply, co_await link_.ask(std::move(words), deadline));
  CO_TRY_ASSIGN(entry, read_entry(reply, key));
  largest_ = std::max(largest_, entry.epoch);
  co_return entry;
}

loop::Task<Result<void>> RedisBackend::look_at(RedisRange& range, Listed& listed, TimePoint deadline) {
  while (true) {
    RedisCommands::Words words = commands_.list(range);
    CO_TRY_ASSIGN(reply, co_await link_.ask(std::move(words), deadline));
    CO_TRY_ASSIGN(next, read_page(reply, listed));
    if (listed.entries.size() > options_.listed_max) {
      co_return fail(Errc::unavailable, "there are more than " + std::to_string(options_.listed_max) +
                                            " names there; ask for a longer prefix");
    }
    if (!next) co_return Result<void>();
    range.first = *std::move(next);
  }
}

loop::Task<Result<Listed>> RedisBackend::look(const std::string& prefix, TimePoint deadline) {
  Listed listed;
  std::vector<RedisRange> ranges = ranges_below(prefix);
  for (RedisRange& range : ranges) CO_TRY(co_await look_at(range, listed, deadline));
  for (const Entry& entry : listed.entries) largest_ = std::max(largest_, entry.epoch);
  co_return listed;
}

loop::Task<Result<std::vector<Entry>>> RedisBackend::list(const std::string& prefix, TimePoint deadline) {
  CO_TRY_ASSIGN(listed, co_await look(prefix, deadline));
  co_return std::move(listed.entries);
}

loop::Task<Result<std::size_t>> RedisBackend::remove_keys(const std::vector<std::string>& keys,
                                                          RedisCommands::Whose whose, TimePoint deadline) {
  std::size_t removed = 0;
  for (std::size_t first = 0; first < keys.size(); first += batch_max) {
    const std::size_t count = std::min(batch_max, keys.size() - first);
    RedisCommands::Words words = commands_.remove(std::span(keys).subspan(first, count), whose);
    CO_TRY_ASSIGN(reply, co_await link_.ask(std::move(words), deadline));
    CO_TRY_ASSIGN(more, read_count(reply));
    removed += more;
  }
  co_return removed;
}

loop::Task<Result<void>> RedisBackend::remove(const std::string& key, TimePoint deadline) {
  const std::vector<std::string> keys(1, key);
  CO_TRY_ASSIGN(removed, co_await remove_keys(keys, RedisCommands::Whose::anybodys, deadline));
  if (removed == 0) co_return nobody_has(key);
  co_return Result<void>();
}

loop::Task<Result<std::size_t>> RedisBackend::remove_subtree(const std::string& prefix, TimePoint deadline) {
  CO_TRY_ASSIGN(listed, co_await look(prefix, deadline));
  std::vector<std::string> keys;
  for (Entry& entry : listed.entries) keys.push_back(std::move(entry.key));
  co_return co_await remove_keys(keys, RedisCommands::Whose::anybodys, deadline);
}

void RedisBackend::release(std::vector<std::string> keys, std::function<void()> done) {
  if (keys.empty()) return done();
  loop_.spawn(release_all(shared_from_this(), std::move(keys), std::move(done)));
}

/// Belongs to the loop, so that the end of the session waits for no server.
loop::Task<void> RedisBackend::release_all(std::shared_ptr<RedisBackend> self, std::vector<std::string> keys,
                                           std::function<void()> done) {
  co_await self->remove_keys(keys, RedisCommands::Whose::own, self->loop_.now() + self->options_.op_wait);
  done();
}

void RedisBackend::listen() {
  if (ear_) return;
  ear_.emplace(loop_, url_, link_options(commands_.channel()),
               RedisLink::Ears{[this] { heard_anything(); }, [this](const std::string& key) { heard(key); }});
}

void RedisBackend::heard(const std::string& key) {
  ++heard_count_;
  heard_.push_back(key);
  while (heard_.size() > heard_max) {
    heard_.pop_front();
    ++heard_oldest_;
  }
  for (const Listener& listener : listeners_) {
    if (is_below(key, listener.prefix)) listener.pending.settle({});
  }
}

/// What was said while nobody listened is not known.
void RedisBackend::heard_anything() {
  heard_oldest_ = ++heard_count_;
  heard_.clear();
  for (const Listener& listener : listeners_) listener.pending.settle({});
}

bool RedisBackend::has_heard(const std::string& prefix, std::uint64_t since) const {
  if (since < heard_oldest_) return true;
  for (std::uint64_t i = since - heard_oldest_; i < heard_.size(); ++i) {
    if (is_below(heard_[i], prefix)) return true;
  }
  return false;
}

loop::Task<Result<News>> RedisBackend::news(const std::string& prefix, const Cursor& since, TimePoint until) {
  listen();
  if (!has_heard(prefix, since.version)) {
    std::erase_if(listeners_, [](const Listener& listener) { return listener.pending.is_settled(); });
    const loop::Pending<void> pending(loop_);
    listeners_.push_back({prefix, pending});
    co_await pending.within(std::min(since.again, until), "");
  }
  News news;
  news.next = since;
  if (since.version > 0 && loop_.now() >= until) co_return news;  // nothing was heard
  news.next.again = TimePoint::max();
  const TimePoint deadline = since.version > 0 ? until : std::max(until, loop_.now() + first_look_wait);
  CO_TRY(co_await ear_->ready(deadline));
  const std::uint64_t heard_before = heard_count_;
  CO_TRY_ASSIGN(listed, co_await look(prefix, deadline));
  news.is_all = true;
  news.next.version = heard_before;
  if (!listed.entries.empty()) news.next.again = loop_.now() + std::max(listed.left, again_min);
  news.put = std::move(listed.entries);
  co_return news;
}

}  // namespace

Result<std::shared_ptr<Backend>> make_redis_backend(loop::RealLoop& loop, const RedisUrl& url, const Options& options) {
  return std::make_shared<RedisBackend>(loop, url, options);
}

}  // namespace cadre::names
