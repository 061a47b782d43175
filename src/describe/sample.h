/// For tests: a struct that uses everything a description may use. Values; safe on any thread.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/dice.h"
#include "describe/describe.h"

namespace cadre::describe::sample {

using AgentId = Name<struct AgentTag>;
using TrialId = Id<struct TrialTag>;

/// A scalar of its own: thousandths of a processor, written as a number.
struct Cpus {
  std::int64_t milli = 1000;
};

enum class Fitting : std::uint8_t { best, worst, spread };
constexpr auto enum_names(Fitting) {
  return std::array{std::pair{Fitting::best, "best"}, std::pair{Fitting::worst, "worst"},
                    std::pair{Fitting::spread, "spread"}};
}

struct Fifo {
  static constexpr std::string_view type_name = "fifo";
  static constexpr std::string_view doc = "First come, first served.";
};
template <class V>
void describe(V&, Fifo&) {}

struct Priority {
  static constexpr std::string_view type_name = "priority";
  static constexpr std::string_view doc = "The more urgent first.";
  std::int8_t levels = 3;
  bool preempt = true;
};
template <class V>
void describe(V& v, Priority& c) {
  v.field("levels", c.levels, "How many levels there are.", range(1, 99));
  v.field("preempt", c.preempt, "Whether the urgent push out others.");
}

struct Fair {
  static constexpr std::string_view type_name = "fair";
  std::map<std::string, double> shares;
};
template <class V>
void describe(V& v, Fair& c) {
  v.required("shares", c.shares, "The share of each team.", not_empty());
}

struct Gang {
  AgentId id;
  std::uint32_t slots = 1;
  std::map<AgentId, std::uint16_t> running_on;
  std::vector<Gang> children;
};
template <class V>
void describe(V& v, Gang& c) {
  v.required("id", c.id, "What it is called.", not_empty());
  v.field("slots", c.slots, "How many slots it takes.", range(1, 1024));
  v.field("running_on", c.running_on, "Slots it has, by agent.");
  v.field("children", c.children, "Gangs inside of it.", length(0, 3));
}

struct Room {
  static constexpr std::string_view doc = "The limits of one pool.";
  std::int64_t min = 0;
  std::int64_t max = 100;
};
template <class V>
void describe(V& v, Room& c) {
  v.field("min", c.min, "Fewest agents.");
  v.field("max", c.max, "Most agents.");
  v.check(c.min <= c.max, "min", "must not exceed max; lower it or raise max");
}

struct Plan {
  std::string name;
  TrialId trial{7};
  std::vector<Gang> gangs;
  std::variant<Fifo, Priority, Fair> policy = Priority{.levels = 5};
  Room room{.min = 1};
  std::optional<Room> spare;
  Fitting fitting = Fitting::spread;
  Duration timeout = std::chrono::minutes(10);
  ByteSize memory{std::int64_t{16} << 30};
  Bytes key;
  Cpus cpus;
  double rate = 0.5;
  double weight = 1;
  std::optional<double> temperature;
  std::uint64_t seed = 1;
  std::int16_t offset = -3;
  std::map<std::string, std::string> labels;
  std::vector<std::optional<bool>> flags;
  std::vector<std::variant<Fifo, Fair>> queues;
  std::optional<std::vector<std::string>> hosts;
};
template <class V>
void describe(V& v, Plan& c) {
  v.required("name", c.name, "What the plan is called.", length(1, 40));
  v.field("trial", c.trial, "Which trial it belongs to.");
  v.field("gangs", c.gangs, "What is to run.");
  v.field("policy", c.policy, "Who goes first.");
  v.field("room", c.room, "How large the pool may be.");
  v.field("spare", c.spare, "A second pool | its limits.");
  v.field("fitting", c.fitting, "How gangs are placed.");
  v.field("timeout", c.timeout, "Longest run.", at_least(std::chrono::seconds(1)));
  v.field("memory", c.memory, "Memory of each slot.", range(ByteSize{1}, ByteSize{std::int64_t{1} << 50}));
  v.field("key", c.key, "A secret.", length(0, 48));
  v.field("cpus", c.cpus, "Processors of each slot.", above(0));
  v.field("rate", c.rate, "Share of samples kept.", range(0, 1));
  v.field("weight", c.weight, "Any number.");
  v.field("temperature", c.temperature, "Heat, when there is any.", at_least(0.25));
  v.field("seed", c.seed, "Seed of the dice.");
  v.field("offset", c.offset, "Shift of the clock.");
  v.field("labels", c.labels, "Free text.");
  v.field("flags", c.flags, "Switches that may be unset.");
  v.field("queues", c.queues, "Further queues.");
  v.field("hosts", c.hosts, "Where it may run.", not_empty());
  v.check(c.room.max >= 1 || c.gangs.empty(), "gangs", "need a pool of at least one agent; raise room.max");
}

}  // namespace cadre::describe::sample

template <>
struct cadre::describe::Scalar<cadre::describe::sample::Cpus> {
  using Cpus = sample::Cpus;
  static std::string type_name() { return "number of processors"; }
  static Value schema() { return Value().set("type", Value("number")).set("maximum", Value(1'000'000)); }
  static Result<Cpus> read(const Value& value) {
    TRY_ASSIGN(number, Scalar<double>::read(value));
    if (!(number >= 0 && number <= 1e6)) return mismatch("processors from 0 to 1000000", value);
    return Cpus{static_cast<std::int64_t>(number * 1000 + 0.5)};
  }
  static Value write(Cpus cpus) { return Value(static_cast<double>(cpus.milli) / 1000); }
  static Amount amount(Cpus cpus) { return static_cast<double>(cpus.milli) / 1000; }
  static Cpus random(Dice& dice, const Limits&) { return {dice.magnitude(1, 1'000'000'000)}; }
};
