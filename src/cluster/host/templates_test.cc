#include "cluster/host/templates.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/overloaded.h"
#include "base/seeds.h"

namespace cadre::cluster::host {
namespace {

using namespace std::chrono_literals;
using Way = Templates::Source::Way;

WarmKind template_kind(const std::string& owner, const std::string& code = "code") {
  WarmKind kind;
  kind.owner = owner;
  kind.command.argv = {"/usr/bin/python3"};
  kind.command.code = code;
  kind.command.warm = kind.command.forks = true;
  return kind;
}

class TemplatesTest : public testing::Test {
 protected:
  static TemplateRules rules(std::size_t all_max = 2) {
    TemplateRules rules;
    rules.all_max = all_max;
    return rules;
  }
  void tick() {
    for (const WarmStock::Effect& effect : templates_.tick(now_)) {
      std::visit(overloaded{
                     [&](const WarmStock::Start& one) {
                       EXPECT_TRUE(Templates::is_template(one.number));
                       EXPECT_TRUE(running_.emplace(one.number, one.kind).second) << "a number twice";
                     },
                     [&](const WarmStock::LetGo& one) {
                       EXPECT_EQ(running_.erase(one.number), 1U);
                       leaving_.insert(one.number);
                     },
                 },
                 effect);
    }
  }
  Way way_of(const WarmKind& kind) { return templates_.source_of(kind, now_).way; }
  /// Started and ready.
  std::uint64_t make(const WarmKind& kind) {
    EXPECT_EQ(way_of(kind), Way::wait);
    tick();
    EXPECT_EQ(way_of(kind), Way::wait);
    for (const auto& [number, one] : running_) {
      if (!(one == kind)) continue;
      templates_.is_ready(number);
      EXPECT_EQ(way_of(kind), Way::fork);
      return number;
    }
    ADD_FAILURE() << "none was started";
    return 0;
  }

  TimePoint now_{1h};
  Templates templates_{rules()};
  std::map<std::uint64_t, WarmKind> running_;
  std::set<std::uint64_t> leaving_;
};

TEST_F(TemplatesTest, AreOnlyForWhatCanBeForked) {
  EXPECT_TRUE(can_be_forked(template_kind("ann")));
  WarmKind other = template_kind("ann");
  other.command.forks = false;
  EXPECT_EQ(way_of(other), Way::start);
  other = template_kind("ann");
  other.command.mounts = {{"/data", "/data"}};
  EXPECT_EQ(way_of(other), Way::start);
  other = template_kind("ann");
  other.isolation = Isolation::off;
  EXPECT_EQ(way_of(other), Way::start);
  other = template_kind("ann");
  other.run_as_root = true;
  EXPECT_EQ(way_of(other), Way::start);
  tick();
  EXPECT_TRUE(running_.empty());
}

TEST_F(TemplatesTest, OfOneKindAreOneAndServeNoOther) {
  const std::uint64_t anns = make(template_kind("ann"));
  tick();
  EXPECT_EQ(running_.size(), 1U);
  EXPECT_EQ(templates_.source_of(template_kind("ann"), now_).number, anns);
  EXPECT_EQ(way_of(template_kind("bob")), Way::wait);
  EXPECT_NE(make(template_kind("bob")), anns);
}

TEST_F(TemplatesTest, TheOneUsedLongestAgoGivesWay) {
  const std::uint64_t first = make(template_kind("ann"));
  now_ += 1s;
  make(template_kind("bob"));
  now_ += 1s;
  make(template_kind("cid"));
  EXPECT_EQ(leaving_, std::set{first});
  EXPECT_EQ(running_.size(), 2U);
}

TEST_F(TemplatesTest, TogetherUseNoMoreMemoryThanAllowed) {
  TemplateRules limited = rules(3);
  limited.memory_max = ByteSize{100};
  templates_ = Templates(limited);
  const std::uint64_t first = make(template_kind("ann"));
  now_ += 1s;
  const std::uint64_t second = make(template_kind("bob"));
  templates_.uses(first, ByteSize{60});
  templates_.uses(second, ByteSize{60});
  tick();
  EXPECT_EQ(leaving_, std::set{first}) << "it was used longest ago";
  EXPECT_EQ(templates_.memory(), ByteSize{60});
  templates_.uses(second, ByteSize{101});
  tick();
  EXPECT_EQ(leaving_, (std::set{first, second}));
  EXPECT_EQ(templates_.memory(), ByteSize{0});
  now_ += rules().pause;
  EXPECT_EQ(way_of(template_kind("ann")), Way::wait);
  EXPECT_EQ(way_of(template_kind("bob")), Way::start) << "it would not fit alone";
}

TEST_F(TemplatesTest, OneThatIsUnfitIsLetGoAndTriedAgainLater) {
  const std::uint64_t number = make(template_kind("ann"));
  EXPECT_TRUE(templates_.is_unfit(number, now_));
  EXPECT_FALSE(templates_.is_unfit(number, now_)) << "that is known";
  EXPECT_EQ(way_of(template_kind("ann")), Way::start);
  tick();
  EXPECT_EQ(leaving_, std::set{number});
  EXPECT_FALSE(templates_.gone(number, now_)) << "nobody relied on it";
  now_ += rules().pause;
  make(template_kind("ann"));
}

TEST_F(TemplatesTest, OneThatEndsOrIsNotReadyInTimeIsNotWaitedFor) {
  const std::uint64_t number = make(template_kind("ann"));
  EXPECT_TRUE(templates_.gone(number, now_));
  running_.erase(number);
  EXPECT_EQ(way_of(template_kind("ann")), Way::start);
  EXPECT_EQ(way_of(template_kind("bob")), Way::wait);
  tick();
  now_ += rules().ready_max;
  tick();
  EXPECT_EQ(way_of(template_kind("bob")), Way::start);
}

TEST_F(TemplatesTest, AreReleasedWhenUnused) {
  const std::uint64_t number = make(template_kind("ann"));
  now_ += rules().idle_max;
  tick();
  EXPECT_EQ(leaving_, std::set{number});
  EXPECT_FALSE(templates_.empty());
  EXPECT_FALSE(templates_.gone(number, now_));
  EXPECT_TRUE(templates_.empty());
}

TEST_F(TemplatesTest, OfNoneAreNone) {
  Templates none(rules(0));
  EXPECT_EQ(none.source_of(template_kind("ann"), now_).way, Way::start);
  make(template_kind("ann"));
  templates_.close();
  tick();
  EXPECT_TRUE(running_.empty());
  EXPECT_EQ(way_of(template_kind("ann")), Way::start);
}

/// Whatever happens: no more than there may be, one for each kind, and every number once.
TEST_F(TemplatesTest, KeepTheirRulesWhateverHappens) {
  FOR_SEEDS(200, [this](Dice& dice) {
    const std::size_t all_max = 1 + dice.below(4);
    templates_ = Templates(rules(all_max));
    running_.clear();
    leaving_.clear();
    for (int step = 0; step < 300; ++step) {
      now_ += 1ms * dice.below(20'000);
      const std::uint64_t number =
          running_.empty()
              ? 0
              : std::next(running_.begin(), static_cast<std::ptrdiff_t>(dice.below(running_.size())))->first;
      switch (dice.below(6)) {
        case 0:
        case 1: {
          const Templates::Source source =
              templates_.source_of(template_kind("user" + std::to_string(dice.below(6))), now_);
          EXPECT_TRUE(source.way != Way::fork || running_.contains(source.number));
          break;
        }
        case 2: templates_.is_ready(number); break;
        case 3: static_cast<void>(templates_.is_unfit(number, now_)); break;
        case 4:
          if (running_.erase(number) > 0) static_cast<void>(templates_.gone(number, now_));
          break;
        default:
          for (const std::uint64_t one : std::exchange(leaving_, {})) EXPECT_FALSE(templates_.gone(one, now_));
      }
      if (dice.below(2) == 0) tick();
      EXPECT_LE(running_.size(), all_max);
      for (auto one = running_.begin(); one != running_.end(); ++one) {
        for (auto other = std::next(one); other != running_.end(); ++other) EXPECT_FALSE(one->second == other->second);
      }
    }
    templates_.close();
    tick();
    for (const std::uint64_t one : leaving_) EXPECT_FALSE(templates_.gone(one, now_));
    EXPECT_TRUE(running_.empty());
    EXPECT_TRUE(templates_.empty());
  });
}

}  // namespace
}  // namespace cadre::cluster::host
