/// The file that `cadre group run` reads: components of several types that run as one group. Values; safe on any
/// thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/job.h"
#include "cluster/restart.h"
#include "describe/describe.h"
#include "remote/event.h"

namespace cadre::remote {

/// Of the name of a group: with the number of its job it is a name, too.
constexpr std::size_t most_group_name = most_name - 21;

struct Strategy {
  static constexpr std::string_view doc = "Where the components of a group go.";
  cluster::Layout layout = cluster::Layout::pack;
  cluster::Measure by = cluster::Measure::slots;
  bool operator==(const Strategy&) const = default;
};
template <class V>
void describe(V& v, Strategy& s) {
  v.field("layout", s.layout, "`pack`: on as few agents as possible; `spread`: on as many.");
  v.field(
      "by", s.by,
      "Of agents that are equally good for that, `pack` takes the one with the least of this left, `spread` the one "
      "with the most.");
}

struct RegisteredClass {
  static constexpr std::string_view doc =
      "A class of which each component is an object; `class: module:Class` is short for `class: {name: module:Class}`.";
  std::string name;
  std::vector<std::string> program;
  bool operator==(const RegisteredClass&) const = default;

  /// `module:Class`, with dots between the names of packages and of nested classes.
  bool is_python() const;
};
template <class V>
void describe(V& v, RegisteredClass& c) {
  v.required("name", c.name, "In Python module:Class; else as the program has registered it.", length(1, 256));
  v.field("program", c.program, "Program and arguments that register it; left out: it is a class in Python.",
          length(0, 4096));
  v.check(!c.program.empty() || c.is_python(), "name",
          "must be module:Class, a class in Python, unless there is a program that registers it");
}

struct ComponentType {
  static constexpr std::string_view doc = "Equal components: so many processes of one type.";
  std::string type;
  std::int32_t count = 1;
  cluster::Cpus cpus;
  ByteSize memory;
  std::int32_t slots = 0;
  std::optional<cluster::SlotKind> slot_kind;
  std::optional<std::vector<std::string>> command;
  std::optional<RegisteredClass> registered_class;
  std::map<std::string, std::string> env;
  cluster::restart::Policy restart;
  std::optional<cluster::Minimum> minimal_peers;
  bool operator==(const ComponentType&) const = default;

  bool has_plain_variables() const;
};
template <class V>
void describe(V& v, ComponentType& c) {
  v.required("type", c.type, "What they are called together; events name it as their source.", length(1, most_name));
  v.field("count", c.count, "How many of them.", range(1, 10'000));
  v.field("cpus", c.cpus, "Cpus for each.", range(0, cluster::most_cpus));
  v.field("memory", c.memory, "Memory for each.", range(ByteSize{0}, cluster::most_memory));
  v.field("slots", c.slots, "Slots for each.", range(0, cluster::most_slots));
  v.field("slot_kind", c.slot_kind, "The kind of slot it needs; any, if left out.");
  v.field("command", c.command, "Program and arguments that each runs.", length(1, 4096));
  v.field("class", c.registered_class,
          "In place of a command: the class of which each is an object, module:Class in Python.");
  v.field("env", c.env, "Environment variables beside those that cadre sets.");
  v.field("restart", c.restart,
          "What becomes of one that has failed. Exit code 64 asks not to be restarted, 65 that the whole group ends.");
  v.field("minimal_peers", c.minimal_peers,
          "How few of them are too few; left out: the group goes on with any number.");
  v.check(is_name(c.type), "type", "must be of letters, digits and - _ . / @, so that events can name it");
  v.check(c.command.has_value() || c.registered_class.has_value(), "command",
          "is required, unless there is a class: what each of them runs");
  v.check(!c.command || !c.registered_class, "class", "stands beside a command; leave one of them out");
  v.check(c.has_plain_variables(), "env",
          "has a name that cannot be set; use letters, digits and _, and begin with neither a digit nor CADRE_");
  v.check(!c.minimal_peers || c.minimal_peers->count <= c.count, "minimal_peers",
          "count must not exceed that of the components; lower it or start more of them");
}

struct GroupFile {
  static constexpr std::string_view doc = "Components that are placed all or nothing and find each other by name.";
  std::string name;
  std::string workspace = access::default_workspace;
  std::string pool = "default";
  std::int32_t priority = 42;
  Strategy strategy;
  std::vector<ComponentType> components;
  bool operator==(const GroupFile&) const = default;
};
template <class V>
void describe(V& v, GroupFile& g) {
  v.required("name", g.name,
             "What the group is called; its components find each other by it and the number of its job.",
             length(1, most_group_name));
  v.field("workspace", g.workspace, "Whose members may see it.", length(1, 64));
  v.field("pool", g.pool, "Where it runs.", length(1, 128));
  v.field("priority", g.priority, "1 to 99, smaller is more important.", range(1, 99));
  v.field("strategy", g.strategy, "How it is placed.");
  v.required("components", g.components, "What it consists of.", length(1, 64));
  v.check(is_name(g.name), "name", "must be of letters, digits and - _ . / @");
}

/// Reads the file and what must hold between its parts; every fault at once.
[[nodiscard]] describe::Read<GroupFile> read_group_file(std::string_view text);

/// What people call each of its tasks, by number: `worker-0`; the number is CADRE_ROLE_RANK.
[[nodiscard]] std::vector<std::string> names_of(const GroupFile& file);

/// The job that runs the group: one member for each type of component, which is its role.
[[nodiscard]] cluster::JobSpec to_job(const GroupFile& file);

}  // namespace cadre::remote
