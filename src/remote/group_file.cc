#include "remote/group_file.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <utility>

namespace cadre::remote {
namespace {

using describe::Fault;
using describe::Faults;

/// Where a type that stands twice does so.
void check_types(const GroupFile& file, const describe::Value& tree, Faults& faults) {
  std::set<std::string> types;
  for (std::size_t at = 0; at < file.components.size(); ++at) {
    const std::string& type = file.components[at].type;
    if (type.empty() || types.insert(type).second) continue;
    const describe::Value& entry = (*tree.find("components")->as<describe::Value::List>())[at];
    faults.add({"components[" + std::to_string(at) + "].type",
                "'" + type + "' is given twice; raise the count of the first, or use another name",
                entry.find("type")->at()});
  }
}

bool is_dotted_name(std::string_view text) {
  const auto is_name = [](std::string_view part) {
    const auto is_letter = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c >= 0x80; };
    return !part.empty() && std::isdigit(static_cast<unsigned char>(part.front())) == 0 &&
           std::all_of(part.begin(), part.end(), is_letter);
  };
  for (std::size_t begin = 0;;) {
    const std::size_t end = std::min(text.find('.', begin), text.size());
    if (!is_name(text.substr(begin, end - begin))) return false;
    if (end == text.size()) return true;
    begin = end + 1;
  }
}

/// `class: module:Class` in its long form.
void spell_out_classes(describe::Value& tree) {
  using describe::Value;
  const auto child = [](Value& parent, std::string_view key) -> Value* {
    auto* const map = parent.as<Value::Map>();
    if (map == nullptr) return nullptr;
    const auto found = std::find_if(map->begin(), map->end(), [&](const auto& entry) { return entry.key == key; });
    return found == map->end() ? nullptr : &found->value;
  };
  Value* const components = child(tree, "components");
  auto* const list = components == nullptr ? nullptr : components->as<Value::List>();
  if (list == nullptr) return;
  for (Value& component : *list) {
    Value* const name = child(component, "class");
    if (name == nullptr || name->as<std::string>() == nullptr) continue;
    const std::optional<describe::Mark> mark = name->at();
    Value::Map spelled_out;
    spelled_out.push_back({"name", std::move(*name)});
    *name = Value(std::move(spelled_out));
    if (mark) name->set_mark(*mark);
  }
}

/// How many there are of each type: `learner=1,worker=3`.
std::string types_of(const GroupFile& file) {
  std::string text;
  for (const ComponentType& component : file.components) {
    text += (text.empty() ? "" : ",") + component.type + "=" + std::to_string(component.count);
  }
  return text;
}

cluster::Command command_of(const GroupFile& file, const ComponentType& component) {
  cluster::Command command;
  command.variables = component.env;
  command.variables["CADRE_GROUP_NAME"] = file.name;
  command.variables["CADRE_GROUP_TYPES"] = types_of(file);
  if (const auto& registered = component.registered_class) {
    command.argv = registered->program;
    if (registered->program.empty()) command.argv = {"/usr/bin/python3", "-m", "cadre.member"};
    command.variables["CADRE_CLASS"] = registered->name;
  } else {
    command.argv = *component.command;
  }
  return command;
}

}  // namespace

bool RegisteredClass::is_python() const {
  const std::size_t colon = name.find(':');
  return colon != std::string::npos && is_dotted_name(std::string_view(name).substr(0, colon)) &&
         is_dotted_name(std::string_view(name).substr(colon + 1));
}

describe::Read<GroupFile> read_group_file(std::string_view text) {
  describe::Parsed tree = describe::parse_yaml(text);
  if (!tree) return tl::unexpected(tree.error());
  spell_out_classes(*tree);
  GroupFile file;
  Faults faults;
  describe::read_into(*tree, file, describe::Place{describe::Path(), faults});
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
    cluster::MemberSpec member;
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
