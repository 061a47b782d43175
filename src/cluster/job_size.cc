#include "cluster/job_size.h"

#include <string_view>

namespace cadre::cluster {
namespace {

/// As JSON, in which the database keeps it: a control character takes six bytes there.
std::size_t size_of(std::string_view text) {
  std::size_t bytes = text.size();
  for (const char c : text) bytes += static_cast<unsigned char>(c) < 0x20 ? 5 : c == '"' || c == '\\' ? 1 : 0;
  return bytes;
}

}  // namespace

std::int64_t bytes_of(const JobSpec& spec) {
  constexpr std::size_t of_entry = 64;  // a node of a map, or a text beside its characters
  std::size_t bytes = sizeof(JobSpec) + size_of(spec.name) + size_of(spec.group) + size_of(spec.actor);
  const auto add_map = [&](const std::map<std::string, std::string>& map) {
    for (const auto& [key, value] : map) bytes += size_of(key) + size_of(value) + 2 * of_entry;
  };
  add_map(spec.selector);
  for (const AgentId& agent : spec.exclude) bytes += size_of(agent.value) + of_entry;
  for (const MemberSpec& member : spec.members) {
    const Command& command = member.command;
    bytes += sizeof(MemberSpec) + size_of(member.role) + size_of(command.folder) + size_of(command.python);
    for (const std::string& word : command.argv) bytes += size_of(word) + of_entry;
    for (const std::string& line : command.setup) bytes += size_of(line) + of_entry;
    for (const Mount& mount : command.mounts) bytes += size_of(mount.source) + size_of(mount.target) + 2 * of_entry;
    add_map(command.variables);
  }
  return static_cast<std::int64_t>(bytes);
}

}  // namespace cadre::cluster
