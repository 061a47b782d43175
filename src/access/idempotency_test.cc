#include "access/idempotency.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/dice.h"
#include "base/seeds.h"

namespace cadre::access {
namespace {

using namespace std::chrono_literals;

constexpr TimePoint start_time{12h};

IdempotencyRow row(const std::string& user, const std::string& key, TimePoint created = start_time) {
  return {user, key, "print of " + key, "job", "17", created};
}

TEST(IdempotencyKeys, KnowsARequestAgainAndRefusesAnotherUnderItsKey) {
  IdempotencyKeys keys({}, {});
  EXPECT_EQ(keys.find("ann", {"k", "print of k"}).value(), nullptr);
  keys.put(row("ann", "k"));
  EXPECT_EQ(*keys.find("ann", {"k", "print of k"}).value(), row("ann", "k"));
  EXPECT_EQ(keys.find("bob", {"k", "print of k"}).value(), nullptr) << "keys are each user's own";
  const auto other = keys.find("ann", {"k", "another print"});
  ASSERT_FALSE(other.has_value());
  EXPECT_EQ(other.error().code, Errc::conflict);
  EXPECT_THAT(other.error().message, testing::HasSubstr("created job 17"));
}

TEST(IdempotencyKeys, KeepsADayAndSoManyOfEachUser) {
  IdempotencySettings settings;
  settings.of_user_max = 3;
  IdempotencyKeys keys(settings, {});
  for (int i = 0; i < 5; ++i) keys.put(row("ann", std::to_string(i), start_time + i * 1s));
  keys.put(row("bob", "0"));
  EXPECT_EQ(keys.size(), 4U);
  EXPECT_EQ(keys.find("ann", {"1", "print of 1"}).value(), nullptr);
  EXPECT_NE(keys.find("ann", {"2", "print of 2"}).value(), nullptr);
  keys.tidy(start_time + 24h);
  EXPECT_EQ(keys.find("bob", {"0", "print of 0"}).value(), nullptr);
  EXPECT_EQ(keys.size(), 3U);
  keys.tidy(start_time + 25h);
  EXPECT_EQ(keys.size(), 0U);
}

TEST(IdempotencyKeys, MatchTheirWritesForAnySequence) {
  FOR_SEEDS(200, [](Dice& dice) {
    IdempotencySettings settings;
    settings.of_user_max = 1 + dice.below(4);
    IdempotencyKeys keys(settings, {});
    std::map<std::pair<std::string, std::string>, IdempotencyRow> stored;
    TimePoint now = start_time;
    for (int step = 0; step < 60; ++step) {
      now += Duration(dice.below(4) * 1h);
      for (std::size_t count = dice.below(4); count > 0; --count) {
        keys.put(row("u" + std::to_string(dice.below(3)), "k" + std::to_string(dice.below(6)), now));
      }
      keys.tidy(now);
      Writes writes;
      keys.take(writes);
      for (const auto& id : writes.keys_gone) stored.erase(id);
      for (const IdempotencyRow& one : writes.keys) stored.insert_or_assign({one.user, one.key}, one);
      ASSERT_EQ(stored.size(), keys.size());
      std::vector<IdempotencyRow> rows;
      for (const auto& [id, one] : stored) {
        rows.push_back(one);
        ASSERT_EQ(*keys.find(one.user, {one.key, one.fingerprint}).value(), one);
        ASSERT_LT(now - one.created, 24h);
      }
      if (dice.percent(30)) keys = IdempotencyKeys(settings, rows);
      Writes none;
      keys.take(none);
      ASSERT_TRUE(none.empty());
    }
  });
}

}  // namespace
}  // namespace cadre::access
