#include "remote/caller.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/overloaded.h"
#include "base/seeds.h"
#include "remote/callee.h"

namespace cadre::remote {
namespace {

using CallId = Caller::CallId;

std::string words(const std::vector<Caller::Effect>& effects) {
  std::string text;
  for (const Caller::Effect& effect : effects) {
    text += std::visit(overloaded{
                           [](const Caller::SendCreate&) { return std::string("create"); },
                           [](const Caller::SendCall& one) { return "call " + std::to_string(one.id); },
                           [](const Caller::SendCancel& one) { return "cancel " + std::to_string(one.id); },
                           [](const Caller::Fail& one) { return "fail " + std::to_string(one.id); },
                           [](const Caller::Cancelled& one) { return "cancelled " + std::to_string(one.id); },
                           [](const Caller::Restart&) { return std::string("restart"); },
                       },
                       effect);
    text += "; ";
  }
  return text;
}

const Error killed{Errc::unavailable, "the actor was killed"};

TEST(Caller, CallsWaitForTheObjectAndGoInOrder) {
  Caller caller({});
  caller.call();
  caller.call();
  EXPECT_EQ(words(caller.take()), "");
  caller.connected(Caller::Process::fresh);
  EXPECT_EQ(words(caller.take()), "create; ");
  caller.created();
  EXPECT_EQ(words(caller.take()), "call 1; call 2; ");
  caller.call();
  EXPECT_EQ(words(caller.take()), "call 3; ");
  EXPECT_TRUE(caller.answered(2));
  EXPECT_FALSE(caller.answered(2));
  EXPECT_FALSE(caller.answered(77));
}

TEST(Caller, ADeathEndsAllCallsEachWithItsReason) {
  Caller caller({});
  caller.connected(Caller::Process::fresh);
  caller.created();
  caller.call();
  static_cast<void>(caller.take());
  caller.cut();
  caller.call();
  caller.died(killed);
  const auto effects = caller.take();
  ASSERT_EQ(words(effects), "fail 1; fail 2; ");
  EXPECT_EQ(std::get<Caller::Fail>(effects[0]).error.message, "the actor was killed; the call may or may not have run");
  EXPECT_EQ(std::get<Caller::Fail>(effects[1]).error.message, "the actor was killed");
  caller.call();
  EXPECT_EQ(words(caller.take()), "fail 3; ");
}

TEST(Caller, IsMadeAnewAsOftenAsItMay) {
  Caller caller({.restarts_max = 1, .retries_max = 0});
  caller.connected(Caller::Process::fresh);
  caller.created();
  caller.call();
  caller.cut();
  caller.call();
  static_cast<void>(caller.take());
  caller.died(killed);
  EXPECT_EQ(words(caller.take()), "fail 1; restart; ");
  caller.connected(Caller::Process::fresh);
  caller.created();
  EXPECT_EQ(words(caller.take()), "create; call 2; ");
  caller.died(killed);
  EXPECT_EQ(words(caller.take()), "fail 2; ");
  EXPECT_EQ(caller.stage(), Caller::Stage::over);
}

TEST(Caller, ACallIsRepeatedOnlyIfItMay) {
  Caller caller({.restarts_max = 5, .retries_max = 1});
  caller.connected(Caller::Process::fresh);
  caller.created();
  caller.call();
  for (int i = 0; i < 2; ++i) {
    caller.died(killed);
    caller.connected(Caller::Process::fresh);
    caller.created();
  }
  EXPECT_EQ(words(caller.take()), "create; call 1; restart; create; call 1; fail 1; restart; create; ");
}

TEST(Caller, AFaultOfTheConstructorIsNotRepeated) {
  Caller caller({.restarts_max = 5, .retries_max = 0});
  caller.call();
  caller.connected(Caller::Process::fresh);
  caller.died({Errc::invalid, "ValueError: no"}, Caller::Fault::its_own);
  EXPECT_EQ(words(caller.take()), "create; fail 1; ");
}

/// A process that answers, dies, and comes back, as dice fall. Every call ends once, none runs more often than it may,
/// and each process gets its calls in order.
TEST(Caller, EveryCallEndsOnce) {
  for_seeds(
      500,
      [](Dice& dice) {
        const Caller::Rules rules{static_cast<std::uint32_t>(dice.below(4)), static_cast<std::uint32_t>(dice.below(3))};
        Caller caller(rules);
        std::map<CallId, int> ends;
        std::map<CallId, std::uint32_t> runs;
        std::vector<CallId> at_process;  // not answered
        std::vector<CallId> made;
        CallId last_sent = 0;
        bool is_connected = false;
        const auto perform = [&] {
          for (const Caller::Effect& effect : caller.take()) {
            std::visit(overloaded{
                           [&](const Caller::SendCreate&) { last_sent = 0; },
                           [&](const Caller::SendCall& one) {
                             EXPECT_TRUE(is_connected);
                             EXPECT_GT(one.id, last_sent);
                             last_sent = one.id;
                             EXPECT_LE(++runs[one.id], 1 + rules.retries_max);
                             at_process.push_back(one.id);
                           },
                           [&](const Caller::SendCancel&) {},
                           [&](const Caller::Fail& one) { ++ends[one.id]; },
                           [&](const Caller::Cancelled& one) {
                             ++ends[one.id];
                             EXPECT_EQ(runs[one.id], 0u) << "it was sent";
                           },
                           [&](const Caller::Restart&) {},
                       },
                       effect);
          }
        };
        for (int step = 0; step < 200; ++step) {
          switch (dice.below(8)) {
            case 0:
            case 1:
            case 2: made.push_back(caller.call()); break;
            case 3:
              if (!is_connected && caller.stage() == Caller::Stage::placing) {
                is_connected = true;
                caller.connected(Caller::Process::fresh);
                perform();
                caller.created();
              } else if (!is_connected && caller.stage() == Caller::Stage::away) {
                is_connected = true;
                last_sent = 0;
                at_process.clear();
                caller.connected(Caller::Process::known);
              }
              break;
            case 4:
            case 5:
              if (!at_process.empty()) {
                const CallId id = at_process.front();
                at_process.erase(at_process.begin());
                if (caller.answered(id)) ++ends[id];
              }
              break;
            case 6:
              if (!made.empty() && dice.percent(30) && runs[made.back()] == 0) caller.cancel(made.back());
              break;
            case 7:
              if (!is_connected || !dice.percent(30)) break;
              is_connected = false;
              caller.cut();
              if (dice.percent(50)) {
                at_process.clear();
                caller.died(killed);
              }
              break;
          }
          perform();
        }
        is_connected = false;
        caller.end({Errc::unavailable, "nobody needs it any more"});
        perform();
        EXPECT_EQ(caller.open_calls(), 0u);
        for (const CallId id : made) EXPECT_EQ(ends[id], 1) << "call " << id;
      },
      [] { return testing::Test::HasFailure(); });
}

TEST(Callee, RunsInOrderAsManyAsThereAreLanes) {
  Callee callee(2);
  for (std::uint64_t id = 1; id <= 4; ++id) EXPECT_TRUE(callee.came({1, id}));
  EXPECT_FALSE(callee.came({1, 4}));
  EXPECT_EQ(callee.next()->id, 1u);
  EXPECT_EQ(callee.next()->id, 2u);
  EXPECT_FALSE(callee.next());
  EXPECT_FALSE(callee.cancel({1, 1})) << "it has begun";
  EXPECT_TRUE(callee.cancel({1, 3}));
  callee.finished({1, 2});
  EXPECT_EQ(callee.next()->id, 4u);
}

TEST(Callee, WhoIsGoneWantsNothingMore) {
  Callee callee(1);
  EXPECT_TRUE(callee.came({1, 1}));
  EXPECT_TRUE(callee.came({2, 1}));
  EXPECT_TRUE(callee.came({1, 2}));
  EXPECT_EQ(callee.next()->connection, 1u);
  EXPECT_EQ(callee.gone(1).size(), 1u);
  callee.finished({1, 1});
  EXPECT_EQ(callee.next()->connection, 2u);
  EXPECT_EQ(callee.waiting(), 0u);
}

TEST(Callee, AgreesWithAPlainList) {
  for_seeds(
      300,
      [](Dice& dice) {
        const std::size_t lanes = 1 + dice.below(3);
        Callee callee(lanes);
        std::vector<Callee::Key> waiting;
        std::vector<Callee::Key> running;
        for (int step = 0; step < 200; ++step) {
          const Callee::Key key{dice.below(3), dice.below(20)};
          const auto place = std::find(waiting.begin(), waiting.end(), key);
          switch (dice.below(5)) {
            case 0:
            case 1: {
              const bool is_new =
                  place == waiting.end() && std::find(running.begin(), running.end(), key) == running.end();
              EXPECT_EQ(callee.came(key), is_new);
              if (is_new) waiting.push_back(key);
              break;
            }
            case 2:
              EXPECT_EQ(callee.cancel(key), place != waiting.end());
              if (place != waiting.end()) waiting.erase(place);
              break;
            case 3:
              if (dice.percent(20)) {
                callee.gone(key.connection);
                std::erase_if(waiting, [&](const Callee::Key& one) { return one.connection == key.connection; });
              } else if (!running.empty()) {
                callee.finished(running.front());
                running.erase(running.begin());
              }
              break;
            case 4: {
              const auto next = callee.next();
              ASSERT_EQ(next.has_value(), !waiting.empty() && running.size() < lanes);
              if (!next) break;
              EXPECT_EQ(*next, waiting.front());
              waiting.erase(waiting.begin());
              running.push_back(*next);
              break;
            }
          }
          EXPECT_EQ(callee.waiting(), waiting.size());
          EXPECT_EQ(callee.running(), running.size());
        }
      },
      [] { return testing::Test::HasFailure(); });
}

}  // namespace
}  // namespace cadre::remote
