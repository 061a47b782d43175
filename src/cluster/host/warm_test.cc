#include "cluster/host/warm.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/overloaded.h"
#include "base/seeds.h"

namespace cadre::cluster::host {
namespace {

using namespace std::chrono_literals;

constexpr ByteSize mebibyte{std::int64_t{1} << 20};

messages::Start start_of(const std::string& owner, const std::string& program) {
  messages::Start start;
  start.owner = owner;
  start.command.argv = {program};
  start.command.warm = true;
  return start;
}

WarmKind kind_of(const std::string& owner, const std::string& program = "host") {
  return warm_kind_of(start_of(owner, program)).value();
}

WarmRules rules_for(std::size_t each, std::size_t all = 100) {
  WarmRules rules;
  rules.each_max = each;
  rules.all_max = all;
  rules.memory_max = {1000 * mebibyte.value};
  return rules;
}

/// The processes that a stock asks for, which do what a test lets them do.
class WarmBench {
 public:
  explicit WarmBench(const WarmRules& rules) : rules_(rules), stock_(rules) {}

  struct Process {
    WarmKind kind;
    bool ready = false;
    ByteSize memory{0};
  };

  void pass(Duration time) { now_ += time; }
  void tick(std::size_t others = 0) {
    for (const WarmStock::Effect& effect : stock_.tick(others, now_)) {
      std::visit(overloaded{
                     [&](const WarmStock::Start& one) {
                       EXPECT_TRUE(processes_.emplace(one.number, Process{one.kind}).second) << "a number twice";
                       ++started_;
                     },
                     [&](const WarmStock::LetGo& one) {
                       const auto process = processes_.extract(one.number);
                       EXPECT_TRUE(process) << "there is none of that number";
                       leaving_.insert(one.number);
                     },
                 },
                 effect);
    }
  }
  void ready(std::uint64_t number) {
    processes_.at(number).ready = true;
    stock_.is_ready(number);
  }
  void uses(std::uint64_t number, ByteSize memory) {
    processes_.at(number).memory = memory;
    stock_.uses(number, memory);
  }
  bool dies(std::uint64_t number) {
    processes_.erase(number);
    return stock_.gone(number, now_);
  }
  void leave() {
    for (const std::uint64_t number : std::exchange(leaving_, {})) EXPECT_FALSE(stock_.gone(number, now_));
  }
  std::optional<Process> take(const WarmKind& kind) {
    const auto number = stock_.take(kind, now_);
    if (!number) return std::nullopt;
    const auto process = processes_.extract(*number);
    EXPECT_TRUE(process) << "it was handed out before, or let go";
    return process ? std::optional(process.mapped()) : std::nullopt;
  }
  /// Until nothing changes any more, all of them getting ready and using this much.
  void settle(ByteSize memory_each = mebibyte) {
    for (int i = 0; i < 500; ++i) {
      pass(10ms);
      tick();
      leave();
      for (auto& [number, process] : processes_) {
        if (!process.ready) ready(number), uses(number, memory_each);
      }
    }
  }

  std::size_t count(const WarmKind& kind) const {
    return std::count_if(processes_.begin(), processes_.end(),
                         [&](const auto& one) { return one.second.kind == kind; });
  }
  std::size_t starting() const {
    return std::count_if(processes_.begin(), processes_.end(), [](const auto& one) { return !one.second.ready; });
  }
  ByteSize memory() const {
    ByteSize sum{0};
    for (const auto& [number, process] : processes_) sum += process.memory;
    return sum;
  }
  const std::map<std::uint64_t, Process>& processes() const { return processes_; }
  std::size_t leaving() const { return leaving_.size(); }
  int started() const { return started_; }
  WarmStock& stock() { return stock_; }
  const WarmRules& rules() const { return rules_; }

 private:
  TimePoint now_{1h};
  WarmRules rules_;
  WarmStock stock_;
  std::map<std::uint64_t, Process> processes_;
  std::set<std::uint64_t> leaving_;
  int started_ = 0;
};

TEST(WarmKind, IsOfOneUserAndOneCommand) {
  EXPECT_EQ(kind_of("ann"), kind_of("ann"));
  EXPECT_NE(kind_of("ann"), kind_of("bob"));
  EXPECT_NE(kind_of("ann", "one"), kind_of("ann", "other"));
  messages::Start start = start_of("ann", "host");
  start.policy.isolation = Isolation::off;
  EXPECT_NE(warm_kind_of(start), kind_of("ann"));
  start.command.warm = false;
  EXPECT_EQ(warm_kind_of(start), std::nullopt);
}

/// Of one user's interpreter, with the code of a program.
WarmKind python_kind(const std::string& owner, const std::string& code) {
  messages::Start start = start_of(owner, "/usr/bin/python3");
  start.command.code = code;
  return warm_kind_of(start).value();
}

TEST(WarmStock, KeepsAsManyOfOneUserAndInterpreterHoweverManyProgramsItRuns) {
  WarmBench bench(rules_for(2));
  for (int program = 0; program < 8; ++program) {
    static_cast<void>(bench.take(python_kind("ann", "code" + std::to_string(program))));
    bench.settle();
    EXPECT_EQ(bench.processes().size(), 2U);
    EXPECT_EQ(bench.count(python_kind("ann", "code" + std::to_string(program))), 2U) << "those of the last program";
  }
  static_cast<void>(bench.take(python_kind("bob", "code0")));
  bench.settle();
  EXPECT_EQ(bench.processes().size(), 4U) << "each user has their own";
}

TEST(WarmStock, GivesThePlacesOfAFailingProgramToAnOlderOne) {
  WarmBench bench(rules_for(3));
  static_cast<void>(bench.take(python_kind("ann", "old")));
  bench.settle();
  static_cast<void>(bench.take(python_kind("ann", "broken")));
  for (int i = 0; i < 100; ++i) {  // whose processes never get ready
    bench.pass(10ms);
    bench.tick();
    bench.leave();
    for (const auto& [number, process] : std::map(bench.processes())) {
      if (process.kind == python_kind("ann", "broken")) static_cast<void>(bench.dies(number));
    }
  }
  bench.settle();
  EXPECT_EQ(bench.count(python_kind("ann", "old")) + bench.count(python_kind("ann", "broken")), 3U);
}

TEST(WarmKind, HoldsTheVariablesThatAProcessReadsWhenItStarts) {
  messages::Start start = start_of("ann", "host");
  start.command.variables = {{"CADRE_SCRIPT", "echo"}};
  EXPECT_EQ(warm_kind_of(start), kind_of("ann"));
  start.command.variables["PYTHONPATH"] = "/lib";
  EXPECT_NE(warm_kind_of(start), kind_of("ann"));
}

TEST(WarmKind, IsOfProcessesFromWhichTheSameFoldersAreHidden) {
  const messages::Start start = start_of("ann", "host");
  EXPECT_NE(warm_kind_of(start, {"/a"}), warm_kind_of(start, {"/a", "/b"}));
  EXPECT_EQ(warm_kind_of(start, {"/a"}), warm_kind_of(start, {"/a"}));
}

TEST(WarmStock, KeepsSomeOfEachKindThatWasStartedOnce) {
  WarmBench bench(rules_for(3));
  bench.settle();
  EXPECT_EQ(bench.started(), 0);
  EXPECT_FALSE(bench.take(kind_of("ann")));
  bench.settle();
  EXPECT_EQ(bench.count(kind_of("ann")), 3U);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(bench.take(kind_of("ann")));
  EXPECT_FALSE(bench.take(kind_of("ann")));
  EXPECT_FALSE(bench.take(kind_of("bob"))) << "processes of other users are not used";
  bench.settle();
  EXPECT_EQ(bench.count(kind_of("ann")), 3U);
  EXPECT_EQ(bench.count(kind_of("bob")), 3U);
}

TEST(WarmStock, SharesItsMemoryWithTemplates) {
  WarmRules rules = rules_for(10);
  rules.memory_max = {6 * mebibyte.value};
  WarmBench bench(rules);
  EXPECT_FALSE(bench.take(kind_of("ann")));
  bench.settle();
  EXPECT_EQ(bench.count(kind_of("ann")), 6U);
  bench.stock().templates_use({4 * mebibyte.value});
  bench.settle();
  EXPECT_EQ(bench.count(kind_of("ann")), 2U);
  bench.stock().templates_use({7 * mebibyte.value});
  bench.settle();
  EXPECT_EQ(bench.count(kind_of("ann")), 0U);
}

TEST(WarmStock, OfNoneKeepsNothing) {
  WarmBench bench(rules_for(0));
  EXPECT_FALSE(bench.take(kind_of("ann")));
  bench.settle();
  WarmRules rules = rules_for(3);
  rules.memory_max = {0};
  WarmBench without_memory(rules);
  EXPECT_FALSE(without_memory.take(kind_of("ann")));
  without_memory.settle();
  EXPECT_EQ(bench.started() + without_memory.started(), 0);
}

TEST(WarmStock, StartsFewAtATimeAndAfterTasks) {
  WarmBench bench(rules_for(9));
  EXPECT_FALSE(bench.take(kind_of("ann")));
  bench.tick(2);
  EXPECT_EQ(bench.started(), 0);
  bench.tick(1);
  EXPECT_EQ(bench.started(), 1);
  bench.tick(0);
  bench.tick(0);
  EXPECT_EQ(bench.started(), 2);
}

TEST(WarmStock, ReleasesUnusedProcessesAfterAWhile) {
  WarmBench bench(rules_for(3));
  EXPECT_FALSE(bench.take(kind_of("ann")));
  bench.settle();
  bench.pass(bench.rules().idle_max - 10s);
  EXPECT_TRUE(bench.take(kind_of("ann")));
  bench.pass(bench.rules().idle_max - 10s);
  bench.settle();
  EXPECT_EQ(bench.count(kind_of("ann")), 3U);
  bench.pass(10s);
  bench.settle();
  EXPECT_TRUE(bench.processes().empty());
  EXPECT_TRUE(bench.stock().empty());
}

TEST(WarmStock, TheKindUsedLongestAgoGivesWayFirst) {
  WarmBench bench(rules_for(4, 6));
  for (const char* user : {"ann", "bob", "cid"}) {
    EXPECT_FALSE(bench.take(kind_of(user)));
    bench.settle();
  }
  EXPECT_EQ(bench.count(kind_of("ann")), 0U);
  EXPECT_EQ(bench.count(kind_of("bob")), 2U);
  EXPECT_EQ(bench.count(kind_of("cid")), 4U);
}

TEST(WarmStock, KeepsNoMoreThanFitIntoMemoryAndStartsNoneInVain) {
  WarmBench bench(rules_for(100));
  EXPECT_FALSE(bench.take(kind_of("ann")));
  bench.settle({150 * mebibyte.value});
  EXPECT_EQ(bench.count(kind_of("ann")), 6U);
  const int started = bench.started();
  bench.settle({150 * mebibyte.value});
  EXPECT_EQ(bench.started(), started);
}

TEST(WarmStock, AProcessThatNeverFitsEvictsNoOther) {
  WarmBench bench(rules_for(4));
  EXPECT_FALSE(bench.take(kind_of("ann")));
  bench.settle();
  EXPECT_FALSE(bench.take(kind_of("bob")));
  bench.tick();
  for (const auto& [number, process] : std::map(bench.processes())) {
    if (process.kind == kind_of("bob")) bench.uses(number, {5000 * mebibyte.value});
  }
  bench.settle();
  EXPECT_EQ(bench.count(kind_of("bob")), 0U);
  EXPECT_EQ(bench.count(kind_of("ann")), 4U);
}

TEST(WarmStock, GivesUpAKindThatAlwaysFailsUntilItIsStartedAgain) {
  WarmBench bench(rules_for(4));
  const auto let_all_die = [&] {
    bool given_up = false;
    for (int i = 0; i < 10'000; ++i) {
      bench.pass(100ms);
      bench.tick();
      while (!bench.processes().empty()) given_up = bench.dies(bench.processes().begin()->first) || given_up;
    }
    return given_up;
  };
  WarmRules rules = bench.rules();
  const int most = rules.failures_max + static_cast<int>(rules.starting_max) - 1;
  EXPECT_FALSE(bench.take(kind_of("ann")));
  bench.tick();
  EXPECT_TRUE(let_all_die());
  EXPECT_LE(bench.started(), most);
  EXPECT_GE(bench.started(), rules.failures_max);
  EXPECT_FALSE(bench.take(kind_of("ann")));
  EXPECT_TRUE(let_all_die());
  EXPECT_LE(bench.started(), 2 * most);
}

TEST(WarmStock, WaitsBeforeItReplacesOneThatFailed) {
  WarmBench bench(rules_for(1));
  EXPECT_FALSE(bench.take(kind_of("ann")));
  bench.tick();
  EXPECT_FALSE(bench.dies(1));
  bench.tick();
  EXPECT_EQ(bench.started(), 1);
  bench.pass(bench.rules().pause_first);
  bench.tick();
  EXPECT_EQ(bench.started(), 2);
}

TEST(WarmStock, ReleasesProcessesThatNeverGetReady) {
  WarmBench bench(rules_for(1));
  EXPECT_FALSE(bench.take(kind_of("ann")));
  bench.tick();
  bench.pass(bench.rules().ready_max);
  bench.tick();
  EXPECT_TRUE(bench.processes().empty());
}

TEST(WarmStock, KeepsItsBoundsWhateverTheOrderOfNews) {
  FOR_SEEDS(1'000, [](Dice& dice) {
    WarmRules rules = rules_for(dice.below(5), 1 + dice.below(12));
    rules.memory_max = {static_cast<std::int64_t>(dice.below(40)) * mebibyte.value};
    rules.starting_max = 1 + dice.below(4);
    rules.kinds_max = 1 + dice.below(4);
    WarmBench bench(rules);
    const auto some_kind = [&] { return kind_of(dice.percent(50) ? "ann" : "bob", dice.percent(50) ? "x" : "y"); };
    const auto some_number = [&] {
      auto at = bench.processes().begin();
      std::advance(at, dice.below(bench.processes().size()));
      return at->first;
    };
    for (int i = 0; i < 300; ++i) {
      bench.pass(std::chrono::milliseconds(dice.magnitude(1, 100'000)));
      if (dice.percent(30)) {
        const WarmKind kind = some_kind();
        const auto taken = bench.take(kind);
        EXPECT_TRUE(!taken || (taken->ready && taken->kind == kind));
      }
      if (!bench.processes().empty()) {
        if (dice.percent(50)) bench.ready(some_number());
        if (dice.percent(30)) bench.uses(some_number(), {static_cast<std::int64_t>(dice.below(9)) * mebibyte.value});
        if (dice.percent(10)) (void)bench.dies(some_number());
      }
      if (dice.percent(40)) bench.leave();
      const std::size_t others = dice.below(3);
      const std::size_t starting = bench.starting();
      const int started = bench.started();
      bench.tick(others);
      if (bench.started() > started) {
        EXPECT_LE(bench.starting() + others, rules.starting_max);
        EXPECT_LE(bench.processes().size() + bench.leaving(), rules.all_max);
      } else {
        EXPECT_LE(bench.starting(), starting);
      }
      EXPECT_LE(bench.memory(), rules.memory_max);
      for (const auto& [number, process] : bench.processes()) EXPECT_LE(bench.count(process.kind), rules.each_max);
    }
    bench.stock().close();
    bench.tick();
    EXPECT_TRUE(bench.processes().empty());
    bench.leave();
    EXPECT_TRUE(bench.stock().empty());
  });
}

TEST(WarmStock, IsFullOfWhatWasUsedLastOnceAllIsWell) {
  FOR_SEEDS(300, [](Dice& dice) {
    WarmRules rules = rules_for(1 + dice.below(4), 4 + dice.below(8));
    WarmBench bench(rules);
    std::string last;
    for (int i = 0; i < 20; ++i) {
      last = "user" + std::to_string(dice.below(5));
      (void)bench.take(kind_of(last));
      bench.tick();
      bench.leave();
      if (!bench.processes().empty() && dice.percent(30)) (void)bench.dies(bench.processes().begin()->first);
    }
    (void)bench.take(kind_of(last));
    bench.settle();
    EXPECT_EQ(bench.count(kind_of(last)), rules.each_max);
  });
}

}  // namespace
}  // namespace cadre::cluster::host
