#include "names/registry.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>

#include "base/seeds.h"
#include "names/follower.h"

namespace cadre::names {
namespace {

using namespace std::chrono_literals;

/// Knows all that ever happened and looks through it.
class Naive {
 public:
  struct Had {
    std::string key, value;
    std::string session;
    std::uint64_t epoch;
    TimePoint end;
  };

  const Had* get(const std::string& key, TimePoint now) const {
    const auto found = now_.find(key);
    return found != now_.end() && found->second.end > now ? &found->second : nullptr;
  }
  bool put(const std::string& session, const Claim& claim, PutMode mode, TimePoint now, std::uint64_t epoch) {
    const Had* had = get(claim.key, now);
    if (had != nullptr && had->session != session && mode == PutMode::only_if_absent) return false;
    now_[claim.key] = {claim.key, claim.value, session, epoch, now + claim.ttl};
    last_[claim.key] = epoch;
    return true;
  }
  Hold keep(const std::string& session, const Claim& claim, TimePoint now) {
    const Had* had = get(claim.key, now);
    if (had != nullptr && had->session == session && had->epoch == claim.epoch.value) {
      now_[claim.key].end = now + claim.ttl;
      return Hold::kept;
    }
    if (had != nullptr) return had->session == session ? Hold::gone : Hold::lost;
    return last_[claim.key] == claim.epoch.value ? Hold::gone : Hold::lost;
  }
  void remove(const std::string& key) {
    now_.erase(key);
    last_[key] = ~std::uint64_t{0};
  }
  std::vector<Entry> list(const std::string& prefix, TimePoint now) const {
    std::vector<Entry> entries;
    for (const auto& [key, had] : now_) {
      if (is_below(key, prefix) && had.end > now) entries.push_back({key, had.value, Epoch{had.epoch}});
    }
    return entries;
  }

 private:
  std::map<std::string, Had> now_;
  std::map<std::string, std::uint64_t> last_;
};

constexpr std::string_view keys[] = {"a", "a/b", "a/b/c", "a/b-c", "a/bc", "b", "b/x/y"};
constexpr std::string_view prefixes[] = {"", "a", "a/b", "b", "c"};

struct History {
  explicit History(Dice& d) : dice(d) {}

  std::string key() { return std::string(dice.pick<std::string_view>(keys)); }
  std::string prefix() { return std::string(dice.pick<std::string_view>(prefixes)); }
  SessionId session() { return SessionId(std::string(1, static_cast<char>('A' + dice.below(3)))); }
  Claim claim() { return {key(), std::to_string(dice.below(3)), milliseconds_of(dice.between(50, 300)), Epoch{}}; }
  static Duration milliseconds_of(std::int64_t count) { return std::chrono::milliseconds(count); }

  void put() {
    const SessionId by = session();
    const Claim wanted = claim();
    const PutMode mode = dice.percent(50) ? PutMode::over : PutMode::only_if_absent;
    const Naive::Had* had = naive.get(wanted.key, now);
    const bool keeps = had != nullptr && had->session == by.value;
    const std::uint64_t before = keeps ? had->epoch : 0;
    const auto epoch = registry.put(by, wanted, mode, now);
    ASSERT_EQ(epoch.has_value(), naive.put(by.value, wanted, mode, now, epoch ? epoch->value : 0));
    if (!epoch) {
      ASSERT_EQ(epoch.error().code, Errc::conflict);
      return;
    }
    if (keeps) {
      ASSERT_EQ(epoch->value, before);
    } else {
      ASSERT_GT(epoch->value, largest);
    }
    largest = std::max(largest, epoch->value);
    held[{by.value, wanted.key}] = wanted;
    held[{by.value, wanted.key}].epoch = *epoch;
  }

  void keep() {
    if (held.empty()) return;
    const auto& [whose, claim] = *std::next(held.begin(), static_cast<std::ptrdiff_t>(dice.below(held.size())));
    const SessionId by(whose.first);
    const Hold hold = naive.keep(whose.first, claim, now);
    ASSERT_EQ(registry.keep(by, claim, now), hold);
    if (hold == Hold::kept || dice.percent(50)) return;
    const Naive::Had* had = naive.get(claim.key, now);
    const std::uint64_t expected = had != nullptr ? had->epoch : claim.epoch.value;
    const std::string value = had != nullptr ? had->value : claim.value;
    const auto epoch = registry.restore(by, claim, now);
    ASSERT_EQ(epoch.has_value(), hold == Hold::gone);
    if (!epoch) return;
    ASSERT_EQ(epoch->value, expected);
    Claim restored = claim;
    restored.value = value;
    naive.put(whose.first, restored, PutMode::over, now, expected);
  }

  void remove() {
    const std::string removed = key();
    ASSERT_EQ(registry.remove(removed, now), naive.get(removed, now) != nullptr);
    if (naive.get(removed, now) != nullptr) naive.remove(removed);
  }

  void remove_subtree() {
    const std::string below = prefix();
    const std::vector<Entry> there = naive.list(below, now);
    ASSERT_EQ(registry.remove_subtree(below, now), there.size());
    for (const Entry& entry : there) naive.remove(entry.key);
  }

  void step() {
    now += milliseconds_of(dice.between(0, 40));
    switch (dice.below(10)) {
      case 0: return remove();
      case 1: return dice.percent(30) ? remove_subtree() : keep();
      case 2:
      case 3:
      case 4: return keep();
      default: return put();
    }
  }

  Dice& dice;
  TimePoint now{};
  Registry registry{RegistryOptions{.begin = 7, .entries_max = 100, .history_max = 20, .ended_max = 1'000}};
  Naive naive;
  std::map<std::pair<std::string, std::string>, Claim> held;
  std::uint64_t largest = 7;
};

TEST(Registry, DoesWhatANaiveOneDoes) {
  FOR_SEEDS(500, [](Dice& dice) {
    History run(dice);
    for (int i = 0; i < 200 && !testing::Test::HasFailure(); ++i) {
      run.step();
      const std::string prefix = run.prefix();
      ASSERT_EQ(run.registry.list(prefix, run.now), run.naive.list(prefix, run.now));
    }
  });
}

TEST(Registry, WatchesReturnTheCurrentState) {
  FOR_SEEDS(500, [](Dice& dice) {
    History run(dice);
    const std::string prefix = run.prefix();
    Follower follower;
    std::map<std::string, Entry> told;
    std::uint64_t version = 0;
    std::map<std::string, Epoch> epochs;
    for (int i = 0; i < 200 && !testing::Test::HasFailure(); ++i) {
      run.step();
      if (dice.percent(60)) continue;
      run.registry.expire(run.now);
      const bool has_news = run.registry.has_news(prefix, version);
      News news = run.registry.news(prefix, version, run.now);
      version = news.next.version;
      const std::vector<Change> changes = follower.take(std::move(news));
      ASSERT_TRUE(has_news || changes.empty());
      for (const Change& change : changes) {
        if (change.kind == Change::Kind::gone) {
          ASSERT_EQ(told.erase(change.entry.key), 1);
        } else {
          ASSERT_NE(told[change.entry.key], change.entry);
          told[change.entry.key] = change.entry;
          ASSERT_GE(change.entry.epoch, epochs[change.entry.key]);
          epochs[change.entry.key] = change.entry.epoch;
        }
      }
      std::vector<Entry> as_told;
      for (const auto& [key, entry] : told) as_told.push_back(entry);
      ASSERT_EQ(as_told, run.naive.list(prefix, run.now));
    }
  });
}

TEST(Registry, AfterARestartTheLastOwnerComesBackAndOthersDoNot) {
  const SessionId first("first");
  const SessionId second("second");
  const SessionId third("third");
  const TimePoint now{};
  Registry before(RegistryOptions{});
  Claim of_first{"a", "1", 1s, Epoch{}};
  of_first.epoch = before.put(first, of_first, PutMode::over, now).value();
  Claim of_second{"a", "2", 1s, Epoch{}};
  of_second.epoch = before.put(second, of_second, PutMode::over, now).value();
  Registry after(RegistryOptions{.begin = 100, .entries_max = 10, .history_max = 10, .ended_max = 10});
  EXPECT_EQ(after.keep(first, of_first, now), Hold::gone);
  EXPECT_EQ(after.restore(first, of_first, now).value(), of_first.epoch);
  EXPECT_EQ(after.restore(second, of_second, now).value(), of_second.epoch);
  EXPECT_EQ(after.keep(first, of_first, now), Hold::lost);
  EXPECT_EQ(after.restore(first, of_first, now).error().code, Errc::conflict);
  EXPECT_EQ(after.get("a", now)->value, "2");
  EXPECT_GT(after.put(third, {"a", "3", 1s, Epoch{}}, PutMode::over, now)->value, 100);
  EXPECT_TRUE(after.news("", before.version(), now).is_all) << "versions of another registry mean nothing";
}

TEST(Registry, RemembersAndHoldsNoMoreThanItMay) {
  const SessionId session("s");
  const TimePoint now{};
  Registry registry(RegistryOptions{.begin = 1, .entries_max = 3, .history_max = 4, .ended_max = 2});
  std::vector<Claim> claims;
  for (int i = 0; i < 3; ++i) {
    Claim claim{std::to_string(i), "", 1s, Epoch{}};
    claim.epoch = registry.put(session, claim, PutMode::over, now).value();
    claims.push_back(claim);
  }
  const auto full = registry.put(session, {"3", "", 1s, Epoch{}}, PutMode::over, now);
  EXPECT_EQ(full.error().code, Errc::unavailable);
  const TimePoint later = now + 2s;
  EXPECT_EQ(registry.keep(session, claims[2], later), Hold::gone);
  EXPECT_EQ(registry.keep(session, claims[0], later), Hold::lost) << "forgotten: somebody may have had it since";
  EXPECT_TRUE(registry.news("", 1, later).is_all);
  EXPECT_FALSE(registry.news("", registry.version() - 4, later).is_all);
}

std::string shown(const News& news) {
  std::string text = news.is_all ? "all:" : "since:";
  for (const Entry& entry : news.put)
    text += " " + entry.key + "=" + entry.value + "@" + std::to_string(entry.epoch.value);
  for (const std::string& key : news.gone) text += " -" + key;
  return text;
}

/// One session after another does something, and what it is told is written down.
std::string transcript() {
  Registry registry(RegistryOptions{.begin = 100, .entries_max = 4, .history_max = 5, .ended_max = 8});
  std::string text;
  TimePoint now{};
  std::uint64_t version = 0;
  const auto say = [&](const std::string& line) {
    text += to_string(now - TimePoint{}) + "  " + line + "\n";
    const News news = registry.news("", version, now);
    if (!news.put.empty() || !news.gone.empty()) text += "      " + shown(news) + "\n";
    version = news.next.version;
  };
  const auto put = [&](const char* session, const char* key, const char* value, PutMode mode = PutMode::over) {
    const auto epoch = registry.put(SessionId(session), {key, value, 1s, Epoch{}}, mode, now);
    say(std::string(session) + (mode == PutMode::over ? " puts " : " claims ") + key + "=" + value + ": " +
        (epoch ? "epoch " + std::to_string(epoch->value) : epoch.error().message));
  };
  const auto keep = [&](const char* session, const char* key, std::uint64_t epoch) {
    const Hold hold = registry.keep(SessionId(session), {key, "", 1s, Epoch{epoch}}, now);
    say(std::string(session) + " keeps " + key + ": " +
        (hold == Hold::kept   ? "kept"
         : hold == Hold::gone ? "gone"
                              : "lost"));
  };
  put("ann", "e/t/0", "here");
  put("ann", "e/t/0", "there");
  put("bob", "e/t/0", "mine", PutMode::only_if_absent);
  put("bob", "e/t/1", "b");
  now += 600ms;
  keep("ann", "e/t/0", 101);
  now += 600ms;
  say("bob has said nothing");
  put("cid", "e/t/1", "c", PutMode::only_if_absent);
  keep("bob", "e/t/1", 103);
  put("cid", "e/t/0", "taken");
  keep("ann", "e/t/0", 101);
  say("cid removes e: " + std::to_string(registry.remove_subtree("e", now)));
  keep("cid", "e/t/0", 106);
  for (const char* key : {"1", "2", "3", "4", "5"}) put("dan", key, "d");
  now += 1s;
  say("all is quiet");
  const auto restored = registry.restore(SessionId("dan"), {"3", "d", 1s, Epoch{111}}, now);
  say("dan restores 3: " + (restored ? "epoch " + std::to_string(restored->value) : restored.error().message));
  return text;
}

TEST(Registry, TranscriptIsAsItWas) {
  const std::string path = CADRE_SOURCE_DIR "/tests/golden/names/registry.txt";
  const std::string text = transcript();
  if (std::getenv("CADRE_UPDATE_GOLDEN") != nullptr) std::ofstream(path) << text;
  std::ifstream file(path);
  EXPECT_EQ(text, std::string(std::istreambuf_iterator<char>(file), {}));
}

}  // namespace
}  // namespace cadre::names
