#include "names/memory_backend.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "loop/pending.h"
#include "names/registry.h"

namespace cadre::names {

namespace {

/// Where a loop is woken from any thread, as long as its backend lives.
struct Bell {
  explicit Bell(loop::Loop& l) : loop(l) {}
  loop::Loop& loop;
  std::atomic<bool> is_rung = false;         // a call is on its way
  std::vector<loop::Pending<void>> waiting;  // for the loop's thread
};

/// One registry and who is to hear of its changes. Any thread.
class Shared {
 public:
  explicit Shared(std::uint64_t begin)
      : registry_([begin] {
          RegistryOptions options;
          options.begin = begin;
          return options;
        }()) {}

  void add(const std::shared_ptr<Bell>& bell) {
    const std::lock_guard lock(mutex_);
    bells_.insert(bell);
  }
  void remove(const std::shared_ptr<Bell>& bell) {
    const std::lock_guard lock(mutex_);
    bells_.erase(bell);
  }

  /// Rings when it changed something.
  template <class Fn>
  auto with(Fn fn) {
    const std::lock_guard lock(mutex_);
    const std::uint64_t before = registry_.version();
    auto result = fn(registry_);
    if (registry_.version() != before) ring();
    return result;
  }

 private:
  void ring() {
    for (const std::shared_ptr<Bell>& bell : bells_) {
      if (bell->is_rung.exchange(true)) continue;
      bell->loop.post([weak = std::weak_ptr(bell)] {
        const std::shared_ptr<Bell> rung = weak.lock();
        if (!rung) return;
        rung->is_rung = false;
        for (const loop::Pending<void>& waiting : std::exchange(rung->waiting, {})) waiting.settle({});
      });
    }
  }

  std::mutex mutex_;
  Registry registry_;
  std::set<std::shared_ptr<Bell>> bells_;
};

/// The registry of a name, as long as somebody uses it. A later one of that name counts on.
std::shared_ptr<Shared> registry_of(const std::string& name) {
  static std::mutex mutex;
  static std::map<std::string, std::weak_ptr<Shared>> all;
  static std::atomic<std::uint64_t> counted = 1;  // by those that have ended
  const std::lock_guard lock(mutex);
  std::erase_if(all, [](const auto& each) { return each.second.expired(); });
  std::shared_ptr<Shared> shared = all[name].lock();
  if (!shared) {
    shared = std::shared_ptr<Shared>(new Shared(counted), [](Shared* ended) {
      const std::uint64_t version = ended->with([](Registry& registry) { return registry.version(); });
      for (std::uint64_t most = counted; most < version && !counted.compare_exchange_weak(most, version);) {
      }
      delete ended;
    });
    all[name] = shared;
  }
  return shared;
}

SessionId new_session() {
  static std::atomic<std::uint64_t> made = 0;
  return SessionId(std::to_string(++made));
}

class MemoryBackend final : public Backend {
 public:
  MemoryBackend(loop::Loop& loop, const std::string& name)
      : loop_(loop), shared_(registry_of(name)), bell_(std::make_shared<Bell>(loop)) {
    shared_->add(bell_);
  }
  MemoryBackend(const MemoryBackend&) = delete;
  MemoryBackend& operator=(const MemoryBackend&) = delete;
  ~MemoryBackend() override { shared_->remove(bell_); }

  loop::Task<Result<Epoch>> put(const Claim& claim, PutMode mode, TimePoint) override {
    co_return shared_->with([&](Registry& registry) { return registry.put(session_, claim, mode, loop_.now()); });
  }
  loop::Task<Result<std::vector<Hold>>> keep(const std::vector<Claim>& claims, TimePoint) override {
    co_return shared_->with([&](Registry& registry) {
      std::vector<Hold> holds;
      for (const Claim& claim : claims) holds.push_back(registry.keep(session_, claim, loop_.now()));
      return holds;
    });
  }
  loop::Task<Result<Epoch>> restore(const Claim& claim, TimePoint) override {
    co_return shared_->with([&](Registry& registry) { return registry.restore(session_, claim, loop_.now()); });
  }
  loop::Task<Result<Entry>> get(const std::string& key, TimePoint) override {
    auto entry = shared_->with([&](Registry& registry) { return registry.get(key, loop_.now()); });
    if (!entry) co_return nobody_has(key);
    co_return *std::move(entry);
  }
  loop::Task<Result<std::vector<Entry>>> list(const std::string& prefix, TimePoint) override {
    co_return shared_->with([&](Registry& registry) { return registry.list(prefix, loop_.now()); });
  }
  loop::Task<Result<void>> remove(const std::string& key, TimePoint) override {
    if (!shared_->with([&](Registry& registry) { return registry.remove(key, loop_.now()); }))
      co_return nobody_has(key);
    co_return Result<void>();
  }
  loop::Task<Result<std::size_t>> remove_subtree(const std::string& prefix, TimePoint) override {
    co_return shared_->with([&](Registry& registry) { return registry.remove_subtree(prefix, loop_.now()); });
  }
  loop::Task<Result<News>> news(const std::string& prefix, const Cursor& since, TimePoint until) override;
  void release(std::vector<std::string> keys, std::function<void()> done) override {
    shared_->with([&](Registry& registry) {
      for (const std::string& key : keys) registry.release(session_, key, loop_.now());
      return 0;
    });
    done();
  }
  void end() override {}

 private:
  loop::Loop& loop_;
  const std::shared_ptr<Shared> shared_;  // with the other sessions of its name
  const std::shared_ptr<Bell> bell_;      // shared with calls on their way to the loop
  const SessionId session_ = new_session();
};

loop::Task<Result<News>> MemoryBackend::news(const std::string& prefix, const Cursor& since, TimePoint until) {
  while (true) {
    std::erase_if(bell_->waiting, [](const loop::Pending<void>& each) { return each.is_settled(); });
    const loop::Pending<void> rung(loop_);
    bell_->waiting.push_back(rung);
    TimePoint next_end = TimePoint::max();
    const bool has_news = shared_->with([&](Registry& registry) {
      next_end = registry.expire(loop_.now());
      return registry.has_news(prefix, since.version);
    });
    if (has_news || loop_.now() >= until) {
      rung.settle({});
      break;
    }
    co_await rung.within(std::min(next_end, until), "");
  }
  std::erase_if(bell_->waiting, [](const loop::Pending<void>& each) { return each.is_settled(); });
  co_return shared_->with([&](Registry& registry) { return registry.news(prefix, since.version, loop_.now()); });
}

}  // namespace

std::shared_ptr<Backend> make_memory_backend(loop::Loop& loop, const std::string& name) {
  return std::make_shared<MemoryBackend>(loop, name);
}

}  // namespace cadre::names
