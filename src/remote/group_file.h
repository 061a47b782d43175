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
#include "cluster/variables.h"
#include "describe/describe.h"
#include "remote/event.h"

namespace cadre::remote {

/// Maximum length of the name of a group: followed by its job ID it must still be a name.
constexpr std::size_t most_group_name = most_name - 21;

struct Strategy {
  static constexpr std::string_view doc = "Placement of the components of a group.";
  plan::Layout layout = plan::Layout::pack;
  plan::Measure by = plan::Measure::slots;
  bool operator==(const Strategy&) const = default;
};
template <class V>
void describe(V& v, Strategy& s) {
  v.field("layout", s.layout, "`pack`: on as few agents as possible; `spread`: on as many as possible.");
  v.field("by", s.by,
          "Resource that decides between equally good agents: `pack` takes the agent with the least of it free, "
          "`spread` the one with the most.");
}

struct RegisteredClass {
  static constexpr std::string_view doc =
      "The class of which each component is an object; `class: module:Class` is short for `class: {name: "
      "module:Class}`.";
  std::string name;
  std::vector<std::string> program;
  bool operator==(const RegisteredClass&) const = default;

  /// `module:Class`, with dots between the names of packages and of nested classes.
  bool is_python() const;
};
template <class V>
void describe(V& v, RegisteredClass& c) {
  v.required("name", c.name, "Class name: module:Class in Python; otherwise the name that the program has registered.",
             length(1, 256));
  v.field("program", c.program, "Program and arguments that register the class. Default: none, it is a Python class.",
          length(0, 4096));
  v.check(!c.program.empty() || c.is_python(), "name", "must be a Python class, module:Class, unless program is set");
}

struct ComponentType {
  static constexpr std::string_view doc = "Equal components: processes of one type.";
  std::string type;
  std::int32_t count = 1;
  plan::Cpus cpus;
  ByteSize memory;
  std::int32_t slots = 0;
  std::optional<plan::SlotKind> slot_kind;
  std::optional<std::vector<std::string>> command;
  std::optional<RegisteredClass> registered_class;
  std::map<std::string, std::string> env;
  cluster::restart::Policy restart;
  std::optional<cluster::Minimum> minimal_peers;
  bool operator==(const ComponentType&) const = default;
};
template <class V>
void describe(V& v, ComponentType& c) {
  v.required("type", c.type, "Name of the type; events use it as their source.", length(1, most_name));
  v.field("count", c.count, "Number of components.", range(1, 10'000));
  v.field("cpus", c.cpus, "CPU cores for each component.", range(0, plan::most_cpus));
  v.field("memory", c.memory, "Memory for each component.", range(ByteSize{0}, plan::most_memory));
  v.field("slots", c.slots, "Slots for each component.", range(0, plan::most_slots));
  v.field("slot_kind", c.slot_kind, "Kind of slot. Default: any.");
  v.field("command", c.command, "Program and arguments of each component.", length(1, 4096));
  v.field("class", c.registered_class,
          "Instead of a command: the class of which each component is an object, module:Class in Python.");
  v.field("env", c.env, "Environment variables in addition to those set by cadre.");
  v.field("restart", c.restart,
          "Restart policy of a failed component. Exit code 64 prevents a restart, 65 ends the whole group.");
  v.field("minimal_peers", c.minimal_peers,
          "Minimum number of components to continue. Default: the group continues with any number.");
  v.check(is_name(c.type), "type", "must consist of letters, digits and - _ . / @");
  v.check(c.command.has_value() || c.registered_class.has_value(), "command", "is required unless class is set");
  v.check(!c.command || !c.registered_class, "class", "cannot be combined with command; remove one of them");
  v.check(cluster::has_plain_names(c.env), "env", cluster::plain_names_rule);
  v.check(!c.minimal_peers || c.minimal_peers->count <= c.count, "minimal_peers",
          "count must not exceed the count of the components; lower it or start more of them");
}

struct GroupFile {
  static constexpr std::string_view doc = "Components that are placed all or nothing and find each other by name.";
  std::string name;
  std::string workspace = api::default_workspace;
  std::string pool = "default";
  std::int32_t priority = 42;
  Strategy strategy;
  std::vector<ComponentType> components;
  bool operator==(const GroupFile&) const = default;
};
template <class V>
void describe(V& v, GroupFile& g) {
  v.required("name", g.name, "Group name; components find each other by it and the ID of its job.",
             length(1, most_group_name));
  v.field("workspace", g.workspace, "Workspace of the group; its members can see the group.", length(1, 64));
  v.field("pool", g.pool, "Pool in which the group runs.", length(1, 128));
  v.field("priority", g.priority, "Priority, 1 to 99; smaller is more important.", range(1, 99));
  v.field("strategy", g.strategy, "Placement of the components.");
  v.required("components", g.components, "Component types of the group.", length(1, 64));
  v.check(is_name(g.name), "name", "must consist of letters, digits and - _ . / @");
}

/// Reads the file and what must hold between its parts; every fault at once.
[[nodiscard]] describe::Read<GroupFile> read_group_file(std::string_view text);

/// The display name of each of its tasks, by number: `worker-0`; the number is CADRE_ROLE_RANK.
[[nodiscard]] std::vector<std::string> names_of(const GroupFile& file);

/// The job that runs the group: one member for each type of component, which is its role.
[[nodiscard]] cluster::JobSpec to_job(const GroupFile& file);

}  // namespace cadre::remote
