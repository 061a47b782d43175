#include "describe/reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/seeds.h"
#include "describe/random.h"
#include "describe/sample.h"

namespace cadre::describe {
namespace {

using sample::Plan;
using testing::HasSubstr;

Fault only_fault(std::string_view yaml) {
  const auto plan = read_yaml<Plan>(yaml);
  EXPECT_FALSE(plan) << yaml;
  if (plan) return {};
  EXPECT_EQ(plan.error().count(), 1u) << to_text(plan.error(), "plan.yaml");
  return plan.error().kept().front();
}

/// The fault of a plan that has a name and `rest`, as path and message.
std::string fault_of(const std::string& rest) {
  const Fault fault = only_fault("name: p\n" + rest);
  EXPECT_TRUE(fault.at) << rest;
  return fault.path + ": " + fault.message;
}

TEST(Read, OmittedFieldsKeepTheirInitialValue) {
  const auto plan = read_yaml<Plan>("name: p");
  ASSERT_TRUE(plan) << to_text(plan.error(), "");
  Plan expected;
  expected.name = "p";
  EXPECT_EQ(write(*plan), write(expected));
}

TEST(Read, FillsEveryKindOfField) {
  const auto plan = read_yaml<Plan>(R"(
name: p
trial: 9223372036854775807
gangs: [{id: g, slots: 4, running_on: {a1: 2}, children: [{id: inner}]}]
policy: {type: fair, shares: {a: 1, b: 0.5}}
spare: {min: -3}
fitting: worst
timeout: 1h30m
memory: 2GiB
key: AQI=
cpus: 1.5
weight: 3
temperature: .inf
offset: -0x
)");
  ASSERT_FALSE(plan);  // -0x is text
  const auto good = read_yaml<Plan>(R"(
name: p
trial: 9223372036854775807
gangs: [{id: g, slots: 4, running_on: {a1: 2}, children: [{id: inner}]}]
policy: {type: fair, shares: {a: 1, b: 0.5}}
spare: {min: -3}
fitting: worst
timeout: 1h30m
memory: 2GiB
key: AQI=
cpus: 1.5
weight: 3
temperature: .inf
flags: [true, ~]
queues: [{type: fifo}]
)");
  ASSERT_TRUE(good) << to_text(good.error(), "");
  EXPECT_EQ(good->trial.value, static_cast<std::uint64_t>(INT64_MAX));
  EXPECT_EQ(good->gangs.at(0).running_on.at(sample::AgentId("a1")), 2);
  EXPECT_EQ(good->gangs[0].children.at(0).id.value, "inner");
  EXPECT_EQ(std::get<sample::Fair>(good->policy).shares.at("b"), 0.5);
  EXPECT_EQ(good->spare->min, -3);
  EXPECT_EQ(good->spare->max, 100);
  EXPECT_EQ(good->fitting, sample::Fitting::worst);
  EXPECT_EQ(good->timeout, std::chrono::minutes(90));
  EXPECT_EQ(good->memory.value, std::int64_t{2} << 30);
  EXPECT_EQ(good->key, (Bytes{std::byte{1}, std::byte{2}}));
  EXPECT_EQ(good->cpus.milli, 1500);
  EXPECT_EQ(good->weight, 3.0);
  EXPECT_EQ(good->temperature, INFINITY);
  EXPECT_EQ(good->flags, (std::vector<std::optional<bool>>{true, std::nullopt}));
}

TEST(Read, EveryFaultHasItsPathAndItsRemedy) {
  EXPECT_EQ(fault_of("seed: four"), "seed: expected a whole number, found text \"four\"");
  EXPECT_EQ(fault_of("seed: 1.0"),
            "seed: expected a whole number, found the number 1.0; write it without a point or an exponent");
  EXPECT_EQ(fault_of("seed: -1"), "seed: must be from 0 to 18446744073709551615, is -1");
  EXPECT_EQ(fault_of("offset: 40000"), "offset: must be from -32768 to 32767, is 40000");
  EXPECT_EQ(fault_of("policy: {type: priority, levels: 120}"), "policy.levels: must be from 1 to 99, is 120");
  EXPECT_EQ(fault_of("policy: {type: priority, levels: 300}"), "policy.levels: must be from 1 to 99, is 300");
  EXPECT_EQ(fault_of("rate: 1.5"), "rate: must be from 0 to 1, is 1.5");
  EXPECT_EQ(fault_of("rate: .nan"), "rate: must be from 0 to 1, is NaN");
  EXPECT_EQ(fault_of("rate: x"), "rate: expected a number, found text \"x\"");
  EXPECT_EQ(fault_of("temperature: 0"), "temperature: must be at least 0.25, is 0.0");
  EXPECT_EQ(fault_of("cpus: 0"), "cpus: must be above 0, is 0.0");
  EXPECT_EQ(fault_of("cpus: -1"), "cpus: expected processors from 0 to 1000000, found the number -1");
  EXPECT_EQ(fault_of("timeout: 10ms"), "timeout: must be at least 1s, is 10ms");
  EXPECT_EQ(fault_of("timeout: 10"),
            "timeout: expected a duration, found the number 10; write one like 30s, 10m, 1h30m or 250ms");
  EXPECT_THAT(fault_of("timeout: soon"), HasSubstr("'soon' is not a duration; write one like"));
  EXPECT_EQ(fault_of("memory: 0"), "memory: must be from 1 to 1PiB, is 0");
  EXPECT_THAT(fault_of("memory: 16gb"), HasSubstr("'16gb' is not a size; write"));
  EXPECT_THAT(fault_of("memory: -5"), HasSubstr("expected a size, found the number -5; write"));
  EXPECT_THAT(fault_of("key: '***'"), HasSubstr("key: not base64"));
  EXPECT_EQ(fault_of("key: " + std::string(68, 'A')), "key: must have a length from 0 to 48, has 51");
  EXPECT_EQ(fault_of("fitting: bst"), "fitting: \"bst\" is not a known choice; did you mean 'best'?");
  EXPECT_EQ(fault_of("fitting: 3"), "fitting: expected one of best, worst, spread, found the number 3");
  EXPECT_EQ(fault_of("fitting: nowhere"),
            "fitting: \"nowhere\" is not a known choice; the known ones are: best, worst, spread");
  EXPECT_EQ(fault_of("labels: {a: 42}"), "labels.a: expected text, found the number 42; put it in quotes: \"42\"");
  EXPECT_EQ(fault_of("labels: {a: true}"), "labels.a: expected text, found true; put it in quotes: \"true\"");
  EXPECT_EQ(fault_of("labels: {a b: 1.10}"), "labels[\"a b\"]: expected text, found the number 1.1; put it in quotes");
  EXPECT_EQ(fault_of("labels: {a: }"), "labels.a: expected text, found nothing (null); write \"\" for an empty text");
  EXPECT_EQ(fault_of("flags: [true, yes]"),
            "flags[1]: expected true or false, found text \"yes\"; write true or false, without quotes");
  EXPECT_EQ(fault_of("flags: [3]"), "flags[0]: expected true or false, found the number 3");
  EXPECT_EQ(fault_of("gangs: {}"), "gangs: expected a list, found a map");
  EXPECT_EQ(fault_of("gangs: "), "gangs: expected a list, found nothing (null); write [] for an empty one");
  EXPECT_EQ(fault_of("room: []"), "room: expected a map, found a list");
  EXPECT_EQ(fault_of("labels: 3"), "labels: expected a map, found the number 3");
  EXPECT_EQ(fault_of("hosts: []"), "hosts: must not be empty");
  EXPECT_EQ(fault_of("gangs: [{slots: 1}]"), "gangs[0].id: is required: What it is called.");
  EXPECT_EQ(fault_of("gangs: [{id: ''}]"), "gangs[0].id: must not be empty");
  EXPECT_EQ(fault_of("gangs: [{id: a, running_on: {a1: x}}]"),
            "gangs[0].running_on.a1: expected a whole number, found text \"x\"");
  EXPECT_EQ(fault_of("gangs: [{id: a, slotz: 1}]"), "gangs[0].slotz: is not a known key; did you mean 'slots'?");
  EXPECT_EQ(fault_of("room: {other: 1}"), "room.other: is not a known key; the known ones are: min, max");
  EXPECT_EQ(fault_of("policy: {}"), "policy.type: is required; choose one of: fifo, priority, fair");
  EXPECT_EQ(fault_of("policy: {type: fifa}"), "policy.type: \"fifa\" is not a known choice; did you mean 'fifo'?");
  EXPECT_EQ(fault_of("policy: {type: fifo, levels: 3}"), "policy.levels: is not a known key; the known ones are: type");
  EXPECT_EQ(fault_of("policy: fifo"), "policy: expected a map, found text \"fifo\"");
  EXPECT_EQ(fault_of("queues: [{type: fair}]"), "queues[0].shares: is required: The share of each team.");
  EXPECT_EQ(fault_of("room: {min: 5, max: 4}"), "room.min: must not exceed max; lower it or raise max");
  EXPECT_EQ(fault_of("room: {min: -1, max: 0}\ngangs: [{id: a}]"),
            "gangs: need a pool of at least one agent; raise room.max");
  EXPECT_EQ(only_fault("{}").message, "is required: What the plan is called.");
  EXPECT_EQ(only_fault("").message, "expected a map, found nothing (null); write {} for an empty one");
  EXPECT_EQ(only_fault("name: ''").message, "must have a length from 1 to 40, has 0");
}

TEST(Read, RulesBetweenFieldsWaitForFieldsWithoutFaults) {
  EXPECT_EQ(fault_of("room: {min: five, max: -4}"), "room.min: expected a whole number, found text \"five\"");
}

TEST(Read, FindsAllFaultsAtOnceEachWithItsPlace) {
  const auto plan =
      read_yaml<Plan>("gangs:\n  - id: a\n    slots: 0\n  - slots: x\nseed: -1\nsede: 3\nroom: {min: 9, max: 1}\n");
  ASSERT_FALSE(plan);
  EXPECT_EQ(to_text(plan.error(), "plan.yaml"),
            "plan.yaml:1:1: name: is required: What the plan is called.\n"
            "plan.yaml:3:12: gangs[0].slots: must be from 1 to 1024, is 0\n"
            "plan.yaml:4:5: gangs[1].id: is required: What it is called.\n"
            "plan.yaml:4:12: gangs[1].slots: expected a whole number, found text \"x\"\n"
            "plan.yaml:7:13: room.min: must not exceed max; lower it or raise max\n"
            "plan.yaml:5:7: seed: must be from 0 to 18446744073709551615, is -1\n"
            "plan.yaml:6:1: sede: is not a known key; did you mean 'seed'?\n");
  EXPECT_EQ(to_error(Faults({"a", "b", {}}), ""), (Error{Errc::invalid, "a: b"}));
}

TEST(Read, KeepsAHundredFaultsAndCountsTheRest) {
  std::string text = "name: p\nflags: [";
  for (int i = 0; i < 250; ++i) text += "x, ";
  const auto plan = read_yaml<Plan>(text + "x]\nother: 1\n");
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().kept().size(), 100u);
  EXPECT_EQ(plan.error().count(), 252u);
  EXPECT_THAT(to_text(plan.error(), "f"), testing::EndsWith("\nand 152 more\n"));
}

TEST(Read, AnyPlanReadsBackFromEveryForm) {
  FOR_SEEDS(1'500, [](Dice& dice) {
    const Plan plan = random_value<Plan>(dice);
    const Value tree = write(plan);
    const auto same = [&](const Read<Plan>& back) {
      ASSERT_TRUE(back) << to_text(back.error(), "") << to_json(tree, Indent::two_spaces);
      ASSERT_EQ(write(*back), tree);
    };
    same(read<Plan>(tree));
    same(read_json<Plan>(write_json(plan)));
    same(read_json<Plan>(write_json(plan, Indent::two_spaces)));
    same(read_yaml<Plan>(write_json(plan)));
    same(read_yaml<Plan>(write_json(plan, Indent::two_spaces)));
    same(read_msgpack<Plan>(write_msgpack(plan)));
  });
}

TEST(Read, TheOrderOfKeysDoesNotMatter) {
  FOR_SEEDS(300, [](Dice& dice) {
    const Plan plan = random_value<Plan>(dice);
    Value tree = write(plan);
    dice.shuffle(*tree.as<Value::Map>());
    const auto back = read<Plan>(tree);
    ASSERT_TRUE(back) << to_text(back.error(), "");
    ASSERT_EQ(write(*back), write(plan));
  });
}

TEST(Write, LeavesOutWhatIsEmptyAndSpellsSizes) {
  Plan plan;
  const Value tree = write(plan);
  EXPECT_EQ(tree.find("spare"), nullptr);
  EXPECT_EQ(*tree.find("memory"), Value("16GiB"));
  EXPECT_EQ(*tree.find("timeout"), Value("10m"));
  plan.memory = {1'025};
  EXPECT_EQ(*write(plan).find("memory"), Value(1'025));
  EXPECT_EQ(name_of(sample::Fitting::worst), "worst");
}

TEST(Write, OmitsWhatAReaderSetsByItself) {
  const auto written = [](const Plan& plan) { return to_json(write(plan, Defaults::omitted)); };
  Plan plan;
  EXPECT_EQ(written(plan), R"({"name":""})") << "a required field is always there";
  plan.gangs.resize(1);
  plan.gangs[0].slots = 2;
  EXPECT_EQ(written(plan), R"({"name":"","gangs":[{"id":"","slots":2}]})");
  plan.gangs.clear();
  plan.room.min = 0;
  EXPECT_EQ(written(plan), R"({"name":"","room":{"min":0}})")
      << "a plan gives its room another default than a room has";
  plan.room.min = 1;
  plan.spare = sample::Room{.min = 1};
  EXPECT_EQ(written(plan), R"({"name":"","spare":{"min":1}})") << "and none to its spare room";
  plan.spare = sample::Room{};
  plan.policy = sample::Priority{};
  EXPECT_EQ(written(plan), R"({"name":"","policy":{"type":"priority"},"spare":{}})");
}

TEST(Write, WithoutDefaultsReadsBackTheSame) {
  FOR_SEEDS(1'500, [](Dice& dice) {
    const Plan plan = random_value<Plan>(dice);
    const auto back = read<Plan>(write(plan, Defaults::omitted));
    ASSERT_TRUE(back) << to_text(back.error(), "");
    ASSERT_EQ(write(*back), write(plan));
  });
}

struct Wide {
  std::uint64_t count = 0;
  Duration wait{};
};
template <class V>
void describe(V& v, Wide& w) {
  v.field("count", w.count, "A number of 64 bits.");
  v.field("wait", w.wait, "Some time.");
}

TEST(Reader, TakesNoNumberThatADatabaseCannotHold) {
  EXPECT_EQ(read_json<Wide>(R"({"count": 9223372036854775807})")->count, (std::uint64_t{1} << 63) - 1);
  for (const char* text : {"9223372036854775808", "18446744073709551615"}) {
    const auto read = read_json<Wide>(std::string(R"({"count": )") + text + "}");
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().begin()->message, "must be from 0 to 9223372036854775807, is " + std::string(text));
  }
}

TEST(Reader, TakesNoDurationOfMoreThanACentury) {
  EXPECT_TRUE(read_json<Wide>(R"({"wait": "36500d"})"));
  for (const char* text : {"36500d1s", "106751d"}) {
    EXPECT_FALSE(read_json<Wide>(std::string(R"({"wait": ")") + text + "\"}")) << text;
  }
}

}  // namespace
}  // namespace cadre::describe
