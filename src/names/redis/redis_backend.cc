#include "names/redis/redis_backend.h"

#include <algorithm>
#include <charconv>
#include <deque>
#include <optional>
#include <span>
#include <utility>

#include "names/pending.h"
#include "names/redis/redis_link.h"
#include "names/redis/scripts.h"
#include "names/session_name.h"

namespace cadre::names {

namespace {

constexpr std::size_t page_max = 64;                    // entries that the server lists in one step
constexpr std::size_t batch_max = 128;                  // entries that it keeps alive or removes in one step
constexpr std::size_t heard_max = 1'024;                // changes that are remembered for who is not listening just now
constexpr Duration mark_wait = std::chrono::hours(48);  // longer than any TTL
constexpr Duration again_min = std::chrono::milliseconds(20);

std::string milliseconds_of(Duration time) {
  return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(time).count());
}

std::optional<Epoch> epoch_of(const Reply& reply) {
  Epoch epoch;
  const std::string* text = reply.text();
  if (text == nullptr) return std::nullopt;
  const auto [end, problem] = std::from_chars(text->data(), text->data() + text->size(), epoch.value);
  return problem == std::errc() && end == text->data() + text->size() ? std::optional(epoch) : std::nullopt;
}

Failure unexpected() { return fail(Errc::corrupt, "Redis answers what our scripts do not; who else writes there?"); }

Result<void> add_holds(const Reply& reply, std::size_t count, std::vector<Hold>& holds) {
  const RespArray* each = reply.array();
  if (each == nullptr || each->size() != count) return unexpected();
  for (const Reply& one : *each) {
    const std::int64_t* number = one.number();
    if (number == nullptr || *number < 0 || *number > 2) return unexpected();
    holds.push_back(static_cast<Hold>(*number));
  }
  return {};
}

Result<Entry> entry_of(const std::string& key, const Reply& reply) {
  const RespArray* each = reply.array();
  if (each == nullptr || each->size() != 2) return unexpected();
  if (std::holds_alternative<RespNull>(each->at(1).value)) return nobody_has(key);
  const std::string* value = each->at(0).text();
  const std::optional<Epoch> epoch = epoch_of(each->at(1));
  if (!epoch || value == nullptr) return unexpected();
  return Entry{key, *value, *epoch};
}

/// What `put` and `restore` say.
Result<Epoch> owned_epoch(const Reply& reply, const std::string& why_not) {
  if (std::holds_alternative<RespNull>(reply.value)) return fail(Errc::conflict, why_not);
  const std::optional<Epoch> epoch = epoch_of(reply);
  if (!epoch) return unexpected();
  return *epoch;
}

/// A part of the index, as Redis takes it.
struct Range {
  std::string first;
  std::string last;
};

/// The key itself and what stands below it are two, with others between them. `0` follows `/`.
std::vector<Range> ranges_below(const std::string& prefix) {
  if (prefix.empty()) return {{"-", "+"}};
  return {{"[" + prefix, "[" + prefix}, {"[" + prefix + "/", "(" + prefix + "0"}};
}

struct Listed {
  std::vector<Entry> entries;
  TimePoint again = TimePoint::max();  ///< when the first of them runs out
};

class RedisBackend final : public Backend, public std::enable_shared_from_this<RedisBackend> {
 public:
  RedisBackend(loop::RealLoop& loop, const RedisUrl& url, const Options& options)
      : loop_(loop),
        url_(url),
        options_(options),
        link_(loop, url, link_options(""), {[this] { tell_found(); }, [](const std::string&) {}}) {}

  loop::Task<Result<Epoch>> put(const Claim& claim, PutMode mode, TimePoint deadline) override;
  loop::Task<Result<std::vector<Hold>>> keep(const std::vector<Claim>& claims, TimePoint deadline) override;
  loop::Task<Result<Epoch>> restore(const Claim& claim, TimePoint deadline) override;
  loop::Task<Result<Entry>> get(const std::string& key, TimePoint deadline) override;
  loop::Task<Result<std::vector<Entry>>> list(const std::string& prefix, TimePoint deadline) override;
  loop::Task<Result<void>> remove(const std::string& key, TimePoint deadline) override;
  loop::Task<Result<std::size_t>> remove_subtree(const std::string& prefix, TimePoint deadline) override;
  loop::Task<Result<News>> news(const std::string& prefix, const Cursor& since, TimePoint until) override;

 private:
  struct Listener {
    std::string prefix;
    Pending<void> pending;
  };

  std::string hash_of(const std::string& key) const { return url_.prefix + "k:" + key; }
  std::string mark_of(const std::string& key) const { return url_.prefix + "m:" + key; }
  std::string index() const { return url_.prefix + "index"; }
  std::string counter() const { return url_.prefix + "epoch"; }
  std::string channel() const { return url_.prefix + "changes:" + std::to_string(url_.db); }
  RedisLinkOptions link_options(std::string heard_channel) const {
    return {options_.op_wait, options_.backoff_max, std::move(heard_channel)};
  }
  std::vector<std::string> claiming(const char* script, const Claim& claim, const std::string& first,
                                    const std::string& second) const;
  std::vector<std::string> keeping(std::span<const Claim> claims) const;
  std::vector<std::string> removing(std::span<const std::string> keys, const std::string& session) const;
  std::vector<std::string> getting(const std::string& key) const { return {"HMGET", hash_of(key), "v", "e"}; }
  std::vector<std::string> listing(const std::string& first, const std::string& last) const;
  loop::Task<Result<void>> keep_all(const std::vector<Claim>& claims, std::vector<Hold>& holds, TimePoint deadline);
  loop::Task<Result<Listed>> look(const std::string& prefix, TimePoint deadline);
  loop::Task<Result<void>> look_at(const Range& range, Listed& listed, TimePoint deadline);
  Result<std::optional<std::string>> add_page(const Reply& reply, Listed& listed);
  loop::Task<Result<std::size_t>> remove_keys(const std::vector<std::string>& keys, const std::string& session,
                                              TimePoint deadline);
  static loop::Task<void> release_all(std::shared_ptr<RedisBackend> self, std::vector<std::string> keys);
  void release(std::vector<Claim> claims) override;
  void listen();
  void heard(const std::string& key);
  void heard_anything();
  bool has_heard(const std::string& prefix, std::uint64_t since) const;

  loop::RealLoop& loop_;
  const RedisUrl url_;
  const Options options_;
  const std::string session_ = new_session_name();
  Epoch largest_;  // that we have seen
  RedisLink link_;
  std::optional<RedisLink> ear_;  // once somebody wants news
  std::uint64_t heard_count_ = 1;
  std::uint64_t heard_oldest_ = 1;  // later ones are known by their keys
  std::deque<std::string> heard_;
  std::vector<Listener> listeners_;
};

std::vector<std::string> RedisBackend::claiming(const char* script, const Claim& claim, const std::string& first,
                                                const std::string& second) const {
  return {"EVAL",
          script,
          "4",
          hash_of(claim.key),
          mark_of(claim.key),
          index(),
          counter(),
          session_,
          claim.value,
          milliseconds_of(claim.ttl),
          first,
          second,
          milliseconds_of(mark_wait),
          channel(),
          claim.key};
}

loop::Task<Result<Epoch>> RedisBackend::put(const Claim& claim, PutMode mode, TimePoint deadline) {
  const std::string word = mode == PutMode::only_if_absent ? "absent" : "over";
  std::vector<std::string> words = claiming(scripts::put, claim, word, std::to_string(largest_.value));
  CO_TRY_ASSIGN(reply, co_await link_.ask(std::move(words), deadline));
  CO_TRY_ASSIGN(epoch, owned_epoch(reply, "somebody has the name " + claim.key + " already"));
  largest_ = std::max(largest_, epoch);
  co_return epoch;
}

loop::Task<Result<Epoch>> RedisBackend::restore(const Claim& claim, TimePoint deadline) {
  std::vector<std::string> words = claiming(scripts::restore, claim, std::to_string(claim.epoch.value), "");
  CO_TRY_ASSIGN(reply, co_await link_.ask(std::move(words), deadline));
  co_return owned_epoch(reply, "the name " + claim.key + " went to somebody else, or was removed");
}

std::vector<std::string> RedisBackend::keeping(std::span<const Claim> claims) const {
  std::vector<std::string> words{"EVAL", scripts::keep, std::to_string(2 * claims.size())};
  for (const Claim& claim : claims) words.insert(words.end(), {hash_of(claim.key), mark_of(claim.key)});
  words.insert(words.end(), {session_, milliseconds_of(mark_wait)});
  for (const Claim& claim : claims) {
    words.insert(words.end(), {std::to_string(claim.epoch.value), milliseconds_of(claim.ttl)});
  }
  return words;
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
    std::vector<std::string> words = keeping(rest.first(count));
    CO_TRY_ASSIGN(reply, co_await link_.ask(std::move(words), deadline));
    CO_TRY(add_holds(reply, count, holds));
  }
  co_return Result<void>();
}

loop::Task<Result<Entry>> RedisBackend::get(const std::string& key, TimePoint deadline) {
  std::vector<std::string> words = getting(key);
  CO_TRY_ASSIGN(reply, co_await link_.ask(std::move(words), deadline));
  CO_TRY_ASSIGN(entry, entry_of(key, reply));
  largest_ = std::max(largest_, entry.epoch);
  co_return entry;
}

std::vector<std::string> RedisBackend::listing(const std::string& first, const std::string& last) const {
  return {"EVAL", scripts::list, "1", index(), first, last, std::to_string(page_max), hash_of("")};
}

/// Gives where the next page begins, if there is one.
Result<std::optional<std::string>> RedisBackend::add_page(const Reply& reply, Listed& listed) {
  const RespArray* page = reply.array();
  if (page == nullptr || page->size() != 3) return unexpected();
  const std::int64_t* count = page->at(0).number();
  const std::string* last = page->at(1).text();
  const RespArray* found = page->at(2).array();
  if (count == nullptr || last == nullptr || found == nullptr || found->size() % 4 != 0) return unexpected();
  for (std::size_t i = 0; i < found->size(); i += 4) {
    const std::string* key = found->at(i).text();
    const std::string* value = found->at(i + 1).text();
    const std::optional<Epoch> epoch = epoch_of(found->at(i + 2));
    const std::int64_t* left_ms = found->at(i + 3).number();
    if (key == nullptr || value == nullptr || !epoch || left_ms == nullptr) return unexpected();
    listed.entries.push_back({*key, *value, *epoch});
    const Duration left = std::chrono::milliseconds(std::clamp<std::int64_t>(*left_ms, 0, 100'000'000));
    listed.again = std::min(listed.again, loop_.now() + std::max(left, again_min));
    largest_ = std::max(largest_, *epoch);
  }
  if (listed.entries.size() > options_.listed_max) {
    return fail(Errc::unavailable,
                "there are more than " + std::to_string(options_.listed_max) + " names there; ask for a longer prefix");
  }
  if (*count < static_cast<std::int64_t>(page_max)) return std::nullopt;
  return "(" + *last;
}

loop::Task<Result<void>> RedisBackend::look_at(const Range& range, Listed& listed, TimePoint deadline) {
  std::optional<std::string> first = range.first;
  while (first) {
    std::vector<std::string> words = listing(*first, range.last);
    CO_TRY_ASSIGN(reply, co_await link_.ask(std::move(words), deadline));
    CO_TRY_ASSIGN(next, add_page(reply, listed));
    first = std::move(next);
  }
  co_return Result<void>();
}

loop::Task<Result<Listed>> RedisBackend::look(const std::string& prefix, TimePoint deadline) {
  Listed listed;
  const std::vector<Range> ranges = ranges_below(prefix);
  for (const Range& range : ranges) CO_TRY(co_await look_at(range, listed, deadline));
  co_return listed;
}

loop::Task<Result<std::vector<Entry>>> RedisBackend::list(const std::string& prefix, TimePoint deadline) {
  CO_TRY_ASSIGN(listed, co_await look(prefix, deadline));
  co_return std::move(listed.entries);
}

std::vector<std::string> RedisBackend::removing(std::span<const std::string> keys, const std::string& session) const {
  std::vector<std::string> words{"EVAL", scripts::remove, std::to_string(2 * keys.size() + 2), index(), counter()};
  for (const std::string& key : keys) words.insert(words.end(), {hash_of(key), mark_of(key)});
  words.insert(words.end(), {session, milliseconds_of(mark_wait), channel()});
  words.insert(words.end(), keys.begin(), keys.end());
  return words;
}

loop::Task<Result<std::size_t>> RedisBackend::remove_keys(const std::vector<std::string>& keys,
                                                          const std::string& session, TimePoint deadline) {
  std::size_t removed = 0;
  for (std::size_t first = 0; first < keys.size(); first += batch_max) {
    const std::size_t count = std::min(batch_max, keys.size() - first);
    std::vector<std::string> words = removing(std::span(keys).subspan(first, count), session);
    CO_TRY_ASSIGN(reply, co_await link_.ask(std::move(words), deadline));
    const std::int64_t* number = reply.number();
    if (number == nullptr || *number < 0) co_return unexpected();
    removed += static_cast<std::size_t>(*number);
  }
  co_return removed;
}

loop::Task<Result<void>> RedisBackend::remove(const std::string& key, TimePoint deadline) {
  const std::vector<std::string> keys(1, key);
  CO_TRY_ASSIGN(removed, co_await remove_keys(keys, "", deadline));
  if (removed == 0) co_return nobody_has(key);
  co_return Result<void>();
}

loop::Task<Result<std::size_t>> RedisBackend::remove_subtree(const std::string& prefix, TimePoint deadline) {
  CO_TRY_ASSIGN(listed, co_await look(prefix, deadline));
  std::vector<std::string> keys;
  for (Entry& entry : listed.entries) keys.push_back(std::move(entry.key));
  co_return co_await remove_keys(keys, "", deadline);
}

void RedisBackend::release(std::vector<Claim> claims) {
  ear_.reset();
  std::vector<std::string> keys;
  for (Claim& claim : claims) keys.push_back(std::move(claim.key));
  if (!keys.empty()) loop_.spawn(release_all(shared_from_this(), std::move(keys)));
}

/// Belongs to the loop, so that the end of the session waits for no server.
loop::Task<void> RedisBackend::release_all(std::shared_ptr<RedisBackend> self, std::vector<std::string> keys) {
  co_await self->remove_keys(keys, self->session_, self->loop_.now() + self->options_.op_wait);
}

void RedisBackend::listen() {
  if (ear_) return;
  ear_.emplace(loop_, url_, link_options(channel()),
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
    const Pending<void> pending(loop_);
    listeners_.push_back({prefix, pending});
    co_await pending.within(std::min(since.again, until), "");
  }
  News news;
  news.next = since;
  if (since.version > 0 && loop_.now() >= until) co_return news;  // nothing was heard
  const TimePoint deadline = since.version > 0 ? until : std::max(until, loop_.now() + first_look_wait);
  CO_TRY(co_await ear_->ready(deadline));
  const std::uint64_t heard_before = heard_count_;
  CO_TRY_ASSIGN(listed, co_await look(prefix, deadline));
  news.is_all = true;
  news.put = std::move(listed.entries);
  news.next.version = heard_before;
  news.next.again = listed.again;
  co_return news;
}

}  // namespace

Result<std::shared_ptr<Backend>> make_redis_backend(loop::RealLoop& loop, const RedisUrl& url, const Options& options) {
  return std::make_shared<RedisBackend>(loop, url, options);
}

}  // namespace cadre::names
