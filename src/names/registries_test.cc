#include "names/registries.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/seeds.h"
#include "names/follower.h"
#include "tests/servers/results.h"

namespace cadre::names {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

const SessionId ann("ann");
const SessionId bob("bob");

Claim claim(const std::string& key, const std::string& value = "v", Duration ttl = 10s) {
  return {key, value, ttl, {}};
}

/// Follows a prefix as a session does: asks, and asks again with what it was told.
struct Client {
  std::string tree;
  std::string prefix;
  Follower follower{};
  std::map<std::string, std::string> known{};
  std::uint64_t seen = 0;
  std::optional<WatcherId> waits{};
  TimePoint until{};

  void take(News news) {
    seen = news.next.version;
    waits.reset();
    for (const Change& change : follower.take(std::move(news))) {
      if (change.kind == Change::Kind::gone) {
        known.erase(change.entry.key);
      } else {
        known[change.entry.key] = change.entry.value;
      }
    }
  }
};

/// Each tree is a separate registry. A watcher gets its news at once, or an empty response at its deadline.
class Play {
 public:
  explicit Play(Dice& dice) : dice_(dice) {
    options_.each.history_max = 5;
    for (const char* prefix : {"", "a", "a/b", "a/b/c", "c"}) {
      for (const char* tree : {"one", "two"}) clients_.push_back({tree, prefix});
    }
  }

  void step() {
    now_ += dice_.percent(80) ? 10ms * dice_.between(0, 3) : 1s * dice_.between(0, 3);
    change();
    Client& client = clients_[dice_.below(clients_.size())];
    if (!client.waits) {
      ask(client);
    } else if (dice_.percent(5)) {
      registries_.forget(*client.waits);
      client.waits.reset();
    }
    settle();
    check();
  }

  void finish() {
    for (Client& client : clients_) {
      if (client.waits) registries_.forget(*client.waits);
      client.waits.reset();
      client.until = now_;
      client.take(std::get<News>(registries_.watch(client.tree, {client.prefix, client.seen, now_}, now_).value()));
      std::map<std::string, std::string> there;
      for (const Entry& entry : oracle(client.tree).list(client.prefix, now_)) there[entry.key] = entry.value;
      EXPECT_EQ(client.known, there) << client.tree << " " << client.prefix;
    }
    EXPECT_EQ(registries_.counters().watchers, 0U);
  }

 private:
  Registry& oracle(const std::string& tree) { return oracles_.try_emplace(tree, options_.each).first->second; }

  void change() {
    const std::string tree = dice_.percent(50) ? "one" : "two";
    const SessionId& session = dice_.percent(50) ? ann : bob;
    static constexpr const char* keys[] = {"a", "a/b", "a/b/c", "a/bc", "c", "c/d"};
    Claim one = claim(keys[dice_.below(6)], std::to_string(dice_.below(3)), 100ms * dice_.between(1, 40));
    one.epoch = Epoch{dice_.below(20)};
    const PutMode mode = dice_.percent(50) ? PutMode::over : PutMode::only_if_absent;
    Registry& same = oracle(tree);
    switch (dice_.below(7)) {
      case 0: EXPECT_EQ(registries_.put(tree, session, one, mode, now_), same.put(session, one, mode, now_)); break;
      case 1: EXPECT_EQ(registries_.restore(tree, session, one, now_), same.restore(session, one, now_)); break;
      case 2: EXPECT_EQ(registries_.remove(tree, one.key, now_), same.remove(one.key, now_)); break;
      case 3: EXPECT_EQ(registries_.remove_subtree(tree, one.key, now_), same.remove_subtree(one.key, now_)); break;
      case 4: EXPECT_EQ(registries_.get(tree, one.key, now_), same.get(one.key, now_)); break;
      case 5:
        registries_.release(tree, session, {one.key}, now_);
        same.release(session, one.key, now_);
        break;
      default: {
        const std::vector<Hold> holds = registries_.keep(tree, session, {one}, now_);
        EXPECT_EQ(holds, std::vector{same.keep(session, one, now_)});
      }
    }
  }

  void ask(Client& client) {
    client.until = now_ + 100ms * dice_.between(0, 30);
    auto outcome = registries_.watch(client.tree, {client.prefix, client.seen, client.until}, now_).value();
    if (auto* news = std::get_if<News>(&outcome)) return client.take(std::move(*news));
    client.waits = std::get<WatcherId>(outcome);
  }

  void settle() {
    for (Registries::Notification& told : registries_.settle(now_)) {
      const auto client =
          std::find_if(clients_.begin(), clients_.end(), [&](const Client& one) { return one.waits == told.watcher; });
      ASSERT_NE(client, clients_.end()) << "nobody waits under that number";
      const bool says_nothing = !told.news.is_all && told.news.put.empty() && told.news.gone.empty();
      EXPECT_TRUE(!says_nothing || client->until <= now_) << "it got nothing before its deadline";
      client->take(std::move(told.news));
    }
  }

  void check() {
    TimePoint next = TimePoint::max();
    for (auto& [name, same] : oracles_) next = std::min(next, same.expire(now_));
    std::size_t entries = 0;
    std::size_t bytes = 0;
    for (const auto& [name, same] : oracles_) {
      entries += same.size();
      bytes += same.size_bytes();
    }
    std::size_t waiting = 0;
    for (const Client& client : clients_) {
      if (!client.waits) continue;
      ++waiting;
      next = std::min(next, client.until);
      EXPECT_GT(client.until, now_) << "its deadline has passed";
      for (const Entry& entry : oracle(client.tree).list(client.prefix, now_)) {
        const auto known = client.known.find(entry.key);
        EXPECT_TRUE(known != client.known.end() && known->second == entry.value) << "it waits although there is news";
      }
    }
    EXPECT_EQ(registries_.next(), next);
    EXPECT_EQ(registries_.counters().entries, entries);
    EXPECT_EQ(registries_.counters().bytes, bytes);
    EXPECT_EQ(registries_.counters().watchers, waiting);
  }

  Dice& dice_;
  RegistriesOptions options_;
  Registries registries_{[] {
    RegistriesOptions options;
    options.each.history_max = 5;
    return options;
  }()};
  std::map<std::string, Registry> oracles_;
  std::vector<Client> clients_;
  TimePoint now_{1h};
};

TEST(Registries, AreSeparateAndDeliverNewsToWatchers) {
  FOR_SEEDS(300, [](Dice& dice) {
    Play play(dice);
    for (int i = 0; i < 200 && !testing::Test::HasFailure(); ++i) play.step();
    play.finish();
  });
}

TEST(Registries, ResumeLongIdleWatchesWithoutACompleteList) {
  RegistriesOptions options;
  options.each.history_max = 3;
  Registries registries(options);
  const TimePoint now{1h};
  ASSERT_DONE(registries.put("t", ann, claim("mine/a"), PutMode::over, now));
  const News all = std::get<News>(registries.watch("t", {"mine", 0, now + 1s}, now).value());
  ASSERT_TRUE(all.is_all);
  const auto waits = std::get<WatcherId>(registries.watch("t", {"mine", all.next.version, now + 1s}, now).value());
  for (int i = 0; i < 10; ++i) {
    ASSERT_DONE(registries.put("t", ann, claim("other/" + std::to_string(i)), PutMode::over, now));
    EXPECT_TRUE(registries.settle(now).empty());
  }
  const std::vector<Registries::Notification> told = registries.settle(now + 1s);
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].watcher, waits);
  EXPECT_FALSE(told[0].news.is_all);
  EXPECT_GT(told[0].news.next.version, all.next.version);
}

TEST(Registries, TakeNoMoreThanTheyMayAndCountWhatTheyRefuse) {
  RegistriesOptions options;
  options.each.entries_max = 2;
  options.each.bytes_max = 20;
  options.bytes_max = 30;
  options.trees_max = 3;
  options.watchers_max = 3;
  options.watchers_max_each = 2;
  Registries registries(options);
  const TimePoint now{1h};
  const auto put = [&](const std::string& tree, const std::string& key, const std::string& value) {
    return registries.put(tree, ann, claim(key, value), PutMode::over, now);
  };
  ASSERT_DONE(put("one", "a", "1"));
  ASSERT_DONE(put("one", "b", "1"));
  EXPECT_ERROR(Errc::unavailable, put("one", "c", "1"));
  EXPECT_ERROR(Errc::unavailable, put("one", "b", std::string(18, 'x')));
  ASSERT_DONE(put("one", "b", std::string(17, 'x')));
  EXPECT_EQ(registries.counters().bytes, 20U);
  ASSERT_DONE(put("two", "a", std::string(9, 'x')));
  EXPECT_ERROR(Errc::unavailable, put("two", "b", ""));
  EXPECT_ERROR(Errc::unavailable, registries.restore("two", ann, claim("b"), now));
  ASSERT_DONE(registries.watch("three", {"", 0, now}, now));
  EXPECT_ERROR(Errc::unavailable, registries.watch("four", {"", 0, now}, now));
  EXPECT_EQ(registries.counters().refused_puts, 4U);
  const auto watch = [&](const std::string& tree) { return registries.watch(tree, {"", 1'000, now + 1s}, now); };
  const auto watch_on = [&](const std::string& tree) {
    const News all = std::get<News>(watch(tree).value());  // it has not counted to that
    return registries.watch(tree, {"", all.next.version, now + 1s}, now);
  };
  const auto first = watch_on("one");
  ASSERT_DONE(first);
  ASSERT_DONE(watch_on("one"));
  EXPECT_ERROR(Errc::unavailable, watch_on("one"));
  ASSERT_DONE(watch_on("two"));
  EXPECT_ERROR(Errc::unavailable, watch_on("three"));
  EXPECT_EQ(registries.counters().refused_watchers, 2U);
  registries.forget(std::get<WatcherId>(*first));
  ASSERT_DONE(watch_on("three"));
}

}  // namespace
}  // namespace cadre::names
