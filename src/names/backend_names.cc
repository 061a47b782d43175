#include "names/backend_names.h"

#include <algorithm>
#include <utility>

#include "loop/backoff.h"

namespace cadre::names {

namespace {

constexpr Duration look_max = std::chrono::seconds(30);  // one question for news

}  // namespace

class Watch::State {
 public:
  State(loop::Loop& loop, std::string p, Names::Handler h)
      : prefix(std::move(p)), tasks(loop), handler_(std::move(h)) {}

  /// Whether the watch goes on.
  bool tell(const Change& change) {
    is_telling_ = true;
    handler_(change);
    is_telling_ = false;
    return !ended_;
  }
  void end() {
    ended_ = true;
    if (!is_telling_) tasks.destroy_all();  // else the coroutine ends itself
  }

  const std::string prefix;
  loop::Tasks tasks;

 private:
  Names::Handler handler_;
  bool is_telling_ = false;
  bool ended_ = false;
};

Watch& Watch::operator=(Watch&& other) noexcept {
  std::swap(state_, other.state_);
  return *this;
}

Watch::~Watch() {
  if (state_) state_->end();
}

/// What nobody heard the end of may have been done. Nobody would keep it alive, so it is taken back.
struct BackendNames::Doubt {
  Doubt(BackendNames& s, const std::string& k) : session(s), key(k) {}
  Doubt(const Doubt&) = delete;
  Doubt& operator=(const Doubt&) = delete;
  ~Doubt() {
    if (!is_over && !session.own_.contains(key)) session.backend_->release(std::vector<std::string>(1, key), [] {});
  }

  BackendNames& session;
  const std::string& key;
  bool is_over = false;
};

BackendNames::BackendNames(loop::Loop& loop, std::shared_ptr<Backend> backend, const Options& options)
    : loop_(loop), options_(options), backend_(std::move(backend)), tasks_(loop) {
  backend_->on_found([this] {
    for (auto& [key, own] : own_) own.due = loop_.now();
    wake();
  });
  tasks_.spawn(keep_alive());
}

BackendNames::~BackendNames() {
  backend_->on_found(nullptr);
  tasks_.destroy_all();
  for (const std::weak_ptr<Watch::State>& watch : watches_) {
    if (const auto state = watch.lock()) state->end();
  }
  backend_->release(take_own_keys(), [] {});
  backend_->end();
}

std::vector<std::string> BackendNames::take_own_keys() {
  std::vector<std::string> keys;
  for (const auto& [key, own] : std::exchange(own_, {})) keys.push_back(key);
  return keys;
}

loop::Task<void> BackendNames::release_own() {
  const loop::Pending<void> done(loop_);
  backend_->release(take_own_keys(), [done] { done.settle({}); });
  co_await done.within(op_deadline(), "");
}

loop::Task<Result<Epoch>> BackendNames::put(std::string key, std::string value, PutOptions options) {
  CO_TRY(check_key(key));
  CO_TRY(check_value(key, value));
  CO_TRY(check_ttl(key, options.ttl));
  if (own_.contains(key) && options.mode == PutMode::only_if_absent) {
    std::vector<std::string> keys(1, key);
    CO_TRY(co_await keep(std::move(keys)));  // it may be ours no longer
    if (own_.contains(key)) co_return fail(Errc::conflict, "this session has the name " + key + " already");
  }
  if (!own_.contains(key) && own_.size() >= options_.entries_max) {
    co_return fail(Errc::unavailable, "this session holds " + std::to_string(own_.size()) +
                                          " names, and no more are allowed; remove some first");
  }
  Claim claim;
  claim.key = key;
  claim.value = std::move(value);
  claim.ttl = options.ttl;
  const TimePoint begun = loop_.now();
  Doubt doubt(*this, key);
  Result<Epoch> epoch = co_await backend_->put(claim, options.mode, op_deadline());
  doubt.is_over = epoch || epoch.error().code != Errc::timed_out;
  if (!epoch) co_return Failure(epoch.error());
  claim.epoch = *epoch;
  own_[key] = {std::move(claim), begun + options.ttl / 3};
  wake();
  co_return *epoch;
}

loop::Task<Result<Entry>> BackendNames::get(std::string key) {
  CO_TRY(check_key(key));
  co_return co_await backend_->get(key, op_deadline());
}

loop::Task<Result<std::vector<Entry>>> BackendNames::list(std::string prefix) {
  CO_TRY(check_prefix(prefix));
  co_return co_await backend_->list(prefix, op_deadline());
}

loop::Task<Result<Entry>> BackendNames::wait(std::string key, TimePoint deadline) {
  CO_TRY(check_key(key));
  Cursor cursor;
  std::string trouble;
  loop::Backoff backoff(options_.backoff_max);
  do {
    const TimePoint until = std::min(deadline, loop_.now() + look_max);
    Result<News> news = co_await backend_->news(key, cursor, until);
    if (news) {
      trouble.clear();
      backoff.reset();
      cursor = news->next;
      const auto found = std::find_if(news->put.begin(), news->put.end(), [&](const Entry& e) { return e.key == key; });
      if (found != news->put.end()) co_return std::move(*found);
    } else {
      if (news.error().code == Errc::denied || news.error().code == Errc::invalid) co_return Failure(news.error());
      cursor = {};
      trouble = "; last error: " + news.error().message;
      co_await loop::sleep(loop_, std::min(backoff.next(), std::max(deadline - loop_.now(), Duration::zero())));
    }
  } while (loop_.now() < deadline);
  co_return fail(Errc::timed_out, "the name " + key + " did not appear in time" + trouble);
}

loop::Task<Result<void>> BackendNames::remove(std::string key) {
  CO_TRY(check_key(key));
  own_.erase(key);
  co_return co_await backend_->remove(key, op_deadline());
}

loop::Task<Result<std::size_t>> BackendNames::remove_subtree(std::string prefix) {
  CO_TRY(check_prefix(prefix));
  std::erase_if(own_, [&](const auto& own) { return is_below(own.first, prefix); });
  co_return co_await backend_->remove_subtree(prefix, op_deadline());
}

Result<Watch> BackendNames::watch(std::string prefix, Handler handler) {
  TRY(check_prefix(prefix));
  std::erase_if(watches_, [](const auto& watch) { return watch.expired(); });
  if (watches_.size() >= options_.watches_max) {
    return fail(Errc::unavailable, "this session has " + std::to_string(watches_.size()) +
                                       " watches, and no more are allowed; end some first");
  }
  const auto state = std::make_shared<Watch::State>(loop_, std::move(prefix), std::move(handler));
  watches_.push_back(state);
  state->tasks.spawn(follow(state));
  return Watch(state);
}

loop::Task<void> BackendNames::follow(std::shared_ptr<Watch::State> state) {
  Follower follower;
  loop::Backoff backoff(options_.backoff_max);
  Cursor cursor;
  while (true) {
    Result<News> news = co_await backend_->news(state->prefix, cursor, loop_.now() + look_max);
    if (!news) {
      cursor = {};
      co_await loop::sleep(loop_, backoff.next());
      continue;
    }
    backoff.reset();
    cursor = news->next;
    for (const Change& change : follower.take(*std::move(news))) {
      if (!state->tell(change)) co_return;
    }
  }
}

void BackendNames::wake() {
  if (sleeping_) sleeping_->settle({});
}

TimePoint BackendNames::next_due() const {
  TimePoint next = TimePoint::max();
  for (const auto& [key, own] : own_) next = std::min(next, own.due);
  return next;
}

/// With those that are due soon, so that they are kept alive together.
std::vector<std::string> BackendNames::due_keys() const {
  std::vector<std::string> keys;
  const TimePoint present = loop_.now();
  for (const auto& [key, own] : own_) {
    if (own.due - own.claim.ttl / 12 <= present) keys.push_back(key);
  }
  return keys;
}

loop::Task<void> BackendNames::keep_alive() {
  loop::Backoff backoff(options_.backoff_max);
  while (true) {
    if (const TimePoint next = next_due(); next > loop_.now()) {
      sleeping_.emplace(loop_);
      co_await sleeping_->within(next, "");
      continue;
    }
    Result<void> kept = co_await keep(due_keys());
    if (kept) {
      backoff.reset();
    } else {
      co_await loop::sleep(loop_, backoff.next());
    }
  }
}

loop::Task<Result<void>> BackendNames::keep(std::vector<std::string> keys) {
  std::vector<Claim> claims;
  for (const std::string& key : keys) {
    if (const auto own = own_.find(key); own != own_.end()) {
      claims.emplace_back(Claim{key, "", own->second.claim.ttl, own->second.claim.epoch});
    }
  }
  const TimePoint begun = loop_.now();
  CO_TRY_ASSIGN(holds, co_await backend_->keep(claims, op_deadline()));
  std::vector<std::string> gone;
  for (std::size_t i = 0; i < claims.size(); ++i) {
    const auto own = own_.find(claims[i].key);
    if (own == own_.end() || own->second.claim.epoch != claims[i].epoch) continue;  // not what we asked about
    if (holds[i] == Hold::lost) lose(claims[i].key, claims[i].epoch);
    if (holds[i] == Hold::gone) gone.push_back(claims[i].key);
    if (holds[i] == Hold::kept) own->second.due = begun + claims[i].ttl / 3;
  }
  for (const std::string& key : gone) CO_TRY(co_await restore(key));
  co_return Result<void>();
}

loop::Task<Result<void>> BackendNames::restore(std::string key) {
  const auto own = own_.find(key);
  if (own == own_.end()) co_return Result<void>();
  const Claim claim = own->second.claim;
  const TimePoint begun = loop_.now();
  Result<Epoch> epoch = co_await backend_->restore(claim, op_deadline());
  if (!epoch && epoch.error().code != Errc::conflict) co_return Failure(epoch.error());
  if (!epoch) lose(key, claim.epoch);
  const auto restored = own_.find(key);
  if (epoch && restored != own_.end()) {
    restored->second.claim.epoch = *epoch;
    restored->second.due = begun + claim.ttl / 3;
  }
  co_return Result<void>();
}

void BackendNames::lose(const std::string& key, Epoch epoch) {
  const auto own = own_.find(key);
  if (own == own_.end() || own->second.claim.epoch != epoch) return;
  own_.erase(own);
  if (lost_) lost_(key);
}

}  // namespace cadre::names
