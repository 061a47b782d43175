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

TEST(Caller, ACallThatWasCancelledIsNotRepeated) {
  Caller caller({.restarts_max = 5, .retries_max = 5});
  caller.connected(Caller::Process::fresh);
  caller.created();
  const CallId first = caller.call();
  caller.cut();
  caller.cancel(first);  // nobody can be told
  caller.call();
  static_cast<void>(caller.take());
  caller.connected(Caller::Process::known);
  EXPECT_EQ(words(caller.take()), "fail 1; call 2; ");
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

using Calls = Callee<std::string>;

TEST(Callee, RunsInOrderAsManyAsThereAreLanes) {
  Calls calls(2);
  for (std::uint64_t id = 1; id <= 4; ++id) EXPECT_TRUE(calls.came({1, id}, "call " + std::to_string(id)));
  EXPECT_FALSE(calls.came({1, 4}, "again"));
  EXPECT_EQ(calls.next()->what, "call 1");
  EXPECT_EQ(calls.next()->what, "call 2");
  EXPECT_FALSE(calls.next());
  EXPECT_FALSE(calls.cancel({1, 1})) << "it has begun";
  EXPECT_TRUE(calls.cancel({1, 3}));
  EXPECT_FALSE(calls.cancel({1, 3}));
  calls.finished({1, 2});
  EXPECT_FALSE(calls.came({1, 2}, "again")) << "also once it has ended";
  EXPECT_EQ(calls.next()->what, "call 4");
}

TEST(Callee, DropsQueuedCallsOfADisconnectedCaller) {
  Calls calls(1);
  EXPECT_TRUE(calls.came({1, 1}, "a"));
  EXPECT_TRUE(calls.came({2, 1}, "b"));
  EXPECT_TRUE(calls.came({1, 2}, "c"));
  EXPECT_EQ(calls.next()->what, "a");
  calls.gone(1);
  EXPECT_EQ(calls.waiting(), 1u);
  calls.finished({1, 1});
  EXPECT_EQ(calls.next()->what, "b");
  EXPECT_EQ(calls.waiting(), 0u);
}

TEST(Callee, AgreesWithAPlainList) {
  for_seeds(
      300,
      [](Dice& dice) {
        const std::size_t lanes = 1 + dice.below(3);
        Calls calls(lanes);
        std::vector<Calls::Key> waiting;
        std::vector<Calls::Key> running;
        std::map<std::uint64_t, std::uint64_t> last;
        std::vector<std::uint64_t> connections;
        const auto connect = [&] {  // the first of each makes the object
          connections.push_back(last.size());
          last[connections.back()] = 0;
          EXPECT_TRUE(calls.came({connections.back(), 0}, "create"));
          waiting.push_back({connections.back(), 0});
        };
        for (int i = 0; i < 3; ++i) connect();
        for (int step = 0; step < 200; ++step) {
          const std::size_t number = dice.below(connections.size());
          const std::uint64_t connection = connections[number];
          const Calls::Key key{connection, last[connection] + dice.below(6)};  // often one that was there
          const Calls::Key old{connection, key.id - std::min<std::uint64_t>(key.id, dice.below(8))};
          const auto place = std::find(waiting.begin(), waiting.end(), old);
          switch (dice.below(5)) {
            case 0:
            case 1: {
              const bool is_new = key.id > last[connection];
              EXPECT_EQ(calls.came(key, std::to_string(key.connection) + "." + std::to_string(key.id)), is_new);
              if (is_new) waiting.push_back(key), last[connection] = key.id;
              break;
            }
            case 2:
              EXPECT_EQ(calls.cancel(old), place != waiting.end());
              if (place != waiting.end()) waiting.erase(place);
              break;
            case 3:
              if (dice.percent(10)) {
                calls.gone(connection);
                std::erase_if(waiting, [&](const Calls::Key& one) { return one.connection == connection; });
                connections.erase(connections.begin() + static_cast<std::ptrdiff_t>(number));
                connect();
              } else if (!running.empty()) {
                calls.finished(running.front());
                running.erase(running.begin());
              }
              break;
            case 4: {
              const auto next = calls.next();
              ASSERT_EQ(next.has_value(), !waiting.empty() && running.size() < lanes);
              if (!next) break;
              EXPECT_EQ(next->key, waiting.front());
              waiting.erase(waiting.begin());
              running.push_back(next->key);
              break;
            }
          }
          EXPECT_EQ(calls.waiting(), waiting.size());
          EXPECT_EQ(calls.running(), running.size());
        }
      },
      [] { return testing::Test::HasFailure(); });
}

}  // namespace
}  // namespace cadre::remote
