#include <cadre/names.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <set>

#include "client/engine.h"
#include "client/interrupt.h"
#include "client/names_place.h"
#include "client/outcomes.h"
#include "loop/tasks.h"

namespace cadre {
namespace {

using namespace std::chrono_literals;
using client::reason_of;

constexpr Duration names_goodbye_max = 1s;
constexpr Duration names_wait_max = std::chrono::hours(24 * 365);

/// What a call waits for. Shared with its task on the loop, which may end later than who waits.
template <class T>
struct Awaited {
  std::mutex mutex;
  std::optional<Result<T>> result;

  void settle(Result<T> with) {
    const std::lock_guard lock(mutex);
    result.emplace(std::move(with));
  }
  bool is_settled() {
    const std::lock_guard lock(mutex);
    return result.has_value();
  }
};

Names::Entry public_entry(names::Entry entry) {
  return {std::move(entry.key), std::move(entry.value), entry.epoch.value};
}

}  // namespace

/// Changes that nobody has asked for yet, the last of each key.
struct Names::Watch::State {
  names::Watch watch;  // the loop's

  std::mutex mutex;
  std::deque<std::string> order;
  std::map<std::string, names::Change> pending;
  std::set<std::string> told;  // as being there
  bool is_ended = false;

  void add(const names::Change& change) {
    const std::lock_guard lock(mutex);
    const std::string& key = change.entry.key;
    const auto [at, is_new] = pending.insert_or_assign(key, change);
    if (is_new) order.push_back(key);
    if (change.kind == names::Change::Kind::put || told.contains(key)) return;
    pending.erase(at);  // it came and went
    std::erase(order, key);
  }

  std::optional<names::Change> take() {
    const std::lock_guard lock(mutex);
    if (order.empty()) return std::nullopt;
    names::Change change = std::move(pending.extract(order.front()).mapped());
    order.pop_front();
    if (change.kind == names::Change::Kind::put) told.insert(change.entry.key);
    if (change.kind == names::Change::Kind::gone) told.erase(change.entry.key);
    return change;
  }
};

struct Names::Inside {
  explicit Inside(std::string u) : url(std::move(u)), tasks(engine.loop()) {}
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
  ~Inside() { close(); }

  TimePoint until(Wait wait) { return engine.loop().now() + std::clamp<Duration>(wait, 0s, names_wait_max); }

  /// Runs it on the loop, and waits until it has ended, which it does by itself.
  template <class T, class Begin>
  Result<T> ask(Begin begin);
  template <class T>
  loop::Task<void> run(loop::Task<Result<T>> task, std::shared_ptr<Awaited<T>> awaited);
  /// On the loop: the session, which is opened when it is first needed.
  Result<names::Names*> session();
  void close();
  loop::Task<void> leave(std::shared_ptr<Awaited<void>> left);
  void end();

  const std::string url;
  client::Engine engine;

  // The loop's.
  std::unique_ptr<names::Names> names;
  std::function<void(const std::string&)> lost;
  std::vector<std::weak_ptr<Watch::State>> watches;
  bool is_closed = false;
  loop::Tasks tasks;
};

Result<names::Names*> Names::Inside::session() {
  if (is_closed) return fail(Errc::conflict, "the connection to the names was closed");
  if (!names) {
    TRY_ASSIGN(opened, client::open_names(engine.loop(), engine.pool(), url));
    names = std::move(opened);
    names->on_lost([this](const std::string& key) {
      if (lost) lost(key);
    });
  }
  return names.get();
}

template <class T>
loop::Task<void> Names::Inside::run(loop::Task<Result<T>> task, std::shared_ptr<Awaited<T>> awaited) {
  Result<T> result = co_await std::move(task);
  awaited->settle(std::move(result));
  engine.changed();
}

template <class T, class Begin>
Result<T> Names::Inside::ask(Begin begin) {
  const auto awaited = std::make_shared<Awaited<T>>();
  const auto start = [this, awaited, begin] {
    Result<names::Names*> opened = session();
    if (opened) return tasks.spawn(run<T>(begin(**opened), awaited));
    awaited->settle(Failure(opened.error()));
    engine.changed();
  };
  if (!engine.wait_or_interrupt(TimePoint::max(), start, [awaited] { return awaited->is_settled(); })) {
    if (client::was_interrupted()) return fail(Errc::conflict, "it was interrupted");
    return fail(Errc::conflict, "a callback of the library cannot wait; wait on another thread");
  }
  return *std::move(awaited->result);
}

loop::Task<void> Names::Inside::leave(std::shared_ptr<Awaited<void>> left) {
  if (names) co_await names->release_own();
  left->settle({});
  engine.changed();
}

void Names::Inside::end() {
  is_closed = true;
  tasks.destroy_all();
  for (const std::weak_ptr<Watch::State>& watch : std::exchange(watches, {})) {
    const std::shared_ptr<Watch::State> state = watch.lock();
    if (!state) continue;
    state->watch = {};
    const std::lock_guard lock(state->mutex);
    state->is_ended = true;
  }
  names.reset();
}

void Names::Inside::close() {
  const auto left = std::make_shared<Awaited<void>>();
  const auto begin = [this, left] {
    if (is_closed) return left->settle({});
    tasks.spawn(leave(left));
  };
  engine.wait(until(names_goodbye_max), begin, [left] { return left->is_settled(); });
  const auto ended = std::make_shared<std::atomic<bool>>(false);
  const auto end_it = [this, ended] {
    end();
    *ended = true;
    engine.changed();
  };
  engine.wait(TimePoint::max(), end_it, [ended] { return ended->load(); });
}

Names::Names(std::string url) : inside_(std::make_shared<Inside>(std::move(url))) {}
Names::Names(Names&&) noexcept = default;
Names& Names::operator=(Names&& other) noexcept {
  std::swap(inside_, other.inside_);
  return *this;
}
Names::~Names() {
  if (inside_) inside_->close();
}

Outcome<std::uint64_t> Names::put(std::string_view key, std::string_view value, const Putting& how) {
  names::PutOptions options;
  options.ttl = how.ttl;
  options.mode = how.only_if_absent ? names::PutMode::only_if_absent : names::PutMode::over;
  const Result<names::Epoch> epoch =
      inside_->ask<names::Epoch>([key = std::string(key), value = std::string(value), options](names::Names& n) {
        return n.put(key, value, options);
      });
  if (!epoch) return reason_of(epoch.error());
  return epoch->value;
}

Outcome<Names::Entry> Names::get(std::string_view key) {
  Result<names::Entry> entry =
      inside_->ask<names::Entry>([key = std::string(key)](names::Names& n) { return n.get(key); });
  if (!entry) return reason_of(entry.error());
  return public_entry(*std::move(entry));
}

Outcome<Names::Entry> Names::wait(std::string_view key, Wait wait) {
  Result<names::Entry> entry = inside_->ask<names::Entry>(
      [key = std::string(key), end = inside_->until(wait)](names::Names& n) { return n.wait(key, end); });
  if (!entry) return reason_of(entry.error());
  return public_entry(*std::move(entry));
}

Outcome<std::vector<Names::Entry>> Names::list(std::string_view prefix) {
  Result<std::vector<names::Entry>> found = inside_->ask<std::vector<names::Entry>>(
      [prefix = std::string(prefix)](names::Names& n) { return n.list(prefix); });
  if (!found) return reason_of(found.error());
  std::vector<Entry> entries;
  for (names::Entry& entry : *found) entries.push_back(public_entry(std::move(entry)));
  return entries;
}

Outcome<void> Names::remove(std::string_view key) {
  const Result<void> removed = inside_->ask<void>([key = std::string(key)](names::Names& n) { return n.remove(key); });
  if (!removed) return reason_of(removed.error());
  return {};
}

Outcome<std::uint64_t> Names::remove_subtree(std::string_view prefix) {
  const Result<std::size_t> removed =
      inside_->ask<std::size_t>([prefix = std::string(prefix)](names::Names& n) { return n.remove_subtree(prefix); });
  if (!removed) return reason_of(removed.error());
  return std::uint64_t{*removed};
}

namespace {

/// A watch is begun at once; as a task it is asked for as all else is.
loop::Task<Result<void>> begin_watch(names::Names& n, std::string prefix, names::Names::Handler handler,
                                     names::Watch& into) {
  CO_TRY_ASSIGN(watch, n.watch(std::move(prefix), std::move(handler)));
  into = std::move(watch);
  co_return Result<void>();
}

}  // namespace

Outcome<Names::Watch> Names::watch(std::string_view prefix) {
  const auto state = std::make_shared<Watch::State>();
  Inside& inside = *inside_;
  const auto handler = [&engine = inside.engine, weak = std::weak_ptr(state)](const names::Change& change) {
    if (const std::shared_ptr<Watch::State> alive = weak.lock()) alive->add(change);
    engine.changed();
  };
  const Result<void> begun = inside.ask<void>([&inside, state, handler, prefix = std::string(prefix)](names::Names& n) {
    std::erase_if(inside.watches, [](const auto& watch) { return watch.expired(); });
    inside.watches.push_back(state);
    return begin_watch(n, prefix, handler, state->watch);
  });
  if (!begun) return reason_of(begun.error());
  return Watch(inside_, state);
}

Names::Watch::Watch(std::shared_ptr<Inside> inside, std::shared_ptr<State> state)
    : inside_(std::move(inside)), state_(std::move(state)) {}
Names::Watch::Watch(Watch&&) noexcept = default;
Names::Watch& Names::Watch::operator=(Watch&& other) noexcept {
  std::swap(inside_, other.inside_);
  std::swap(state_, other.state_);
  return *this;
}
Names::Watch::~Watch() {
  if (state_) inside_->engine.run([state = state_] { state->watch = {}; });
}

Outcome<Names::Change> Names::Watch::next(Wait wait) {
  std::optional<names::Change> change;
  bool is_ended = false;
  const auto look = [&] {
    if ((change = state_->take())) return true;
    const std::lock_guard lock(state_->mutex);
    return is_ended = state_->is_ended;
  };
  inside_->engine.wait_or_interrupt(
      inside_->until(wait), [] {}, look);
  if (is_ended) return Reason{Reason::Code::conflict, "the connection to the names was closed"};
  if (!change) return Reason{Reason::Code::timed_out, "no change within the time limit"};
  const auto kind = change->kind == names::Change::Kind::put ? Change::Kind::put : Change::Kind::gone;
  return Change{kind, public_entry(std::move(change->entry))};
}

void Names::on_lost(std::function<void(const std::string& key)> call) {
  inside_->engine.run([inside = inside_.get(), call = std::move(call)]() mutable { inside->lost = std::move(call); });
}

void Names::close() { inside_->close(); }

}  // namespace cadre
