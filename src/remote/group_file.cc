#include "remote/group_file.h"

#include <algorithm>
#include <set>

namespace cadre::remote {
namespace {

using describe::Fault;
using describe::Faults;

bool is_plain_variable(std::string_view name) {
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  const bool begins_well = !name.empty() && !(name.front() >= '0' && name.front() <= '9');
  return begins_well && !name.starts_with("CADRE_") && std::all_of(name.begin(), name.end(), is_plain);
}

/// Where a type that stands twice does so.
void check_types(const GroupFile& file, const describe::Value& tree, Faults& faults) {
  std::set<std::string> types;
  for (std::size_t at = 0; at < file.components.size(); ++at) {
    const std::string& type = file.components[at].type;
    if (type.empty() || types.insert(type).second) continue;
    const describe::Value& entry = (*tree.find("components")->as<describe::Value::List>())[at];
    faults.add({"components[" + std::to_string(at) + "].type",
                "'" + type + "' stands twice; raise the count of the first, or give it a name of its own",
                entry.find("type")->at()});
  }
}

cluster::Command command_of(const GroupFile& file, const ComponentType& component) {
  cluster::Command command;
  command.variables = component.env;
  command.variables["CADRE_GROUP"] = file.name;
  if (component.registered_class) {
    command.argv = component.registered_class->program;
    command.variables["CADRE_CLASS"] = component.registered_class->name;
  } else {
    command.argv = *component.command;
  }
  return command;
}

}  // namespace

bool ComponentType::has_plain_variables() const {
  return std::all_of(env.begin(), env.end(), [](const auto& entry) { return is_plain_variable(entry.first); });
}

describe::Read<GroupFile> read_group_file(std::string_view text) {
  const describe::Parsed tree = describe::parse_yaml(text);
  if (!tree) return tl::unexpected(tree.error());
  GroupFile file;
  Faults faults;
  describe::read_into(*tree, file, {}, describe::Place{describe::Path(), faults});
  check_types(file, *tree, faults);
  if (!faults.empty()) return tl::unexpected(std::move(faults));
  return file;
}

std::vector<std::string> names_of(const GroupFile& file) {
  std::vector<std::string> names;
  for (const ComponentType& component : file.components) {
    for (std::int32_t at = 0; at < component.count; ++at) names.push_back(component.type + "-" + std::to_string(at));
  }
  return names;
}

cluster::JobSpec to_job(const GroupFile& file) {
  cluster::JobSpec job;
  job.name = file.name;
  job.workspace = file.workspace;
  job.pool = file.pool;
  job.priority = file.priority;
  for (const ComponentType& component : file.components) {
    cluster::Member member;
    member.role = component.type;
    member.count = component.count;
    member.slots = component.slots;
    member.slot_kind = component.slot_kind;
    member.cpus = component.cpus;
    member.memory = component.memory;
    member.layout = file.strategy.layout;
    member.layout_by = file.strategy.by;
    member.command = command_of(file, component);
    member.restart = component.restart;
    member.minimum = component.minimal_peers;
    job.members.push_back(std::move(member));
  }
  return job;
}

}  // namespace cadre::remote
