#include "cluster/job_size.h"

namespace cadre::cluster {

std::int64_t bytes_of(const JobSpec& spec) {
  constexpr std::size_t of_entry = 64;  // a node of a map, or a text beside its characters
  std::size_t bytes = sizeof(JobSpec) + spec.name.size() + spec.group.size() + spec.actor.size();
  const auto add_map = [&](const std::map<std::string, std::string>& map) {
    for (const auto& [key, value] : map) bytes += key.size() + value.size() + 2 * of_entry;
  };
  add_map(spec.selector);
  for (const AgentId& agent : spec.exclude) bytes += agent.value.size() + of_entry;
  for (const Member& member : spec.members) {
    const Command& command = member.command;
    bytes += sizeof(Member) + member.role.size() + command.folder.size() + command.python.size();
    for (const std::string& word : command.argv) bytes += word.size() + of_entry;
    for (const std::string& line : command.setup) bytes += line.size() + of_entry;
    for (const Mount& mount : command.mounts) bytes += mount.source.size() + mount.target.size() + 2 * of_entry;
    add_map(command.variables);
  }
  return static_cast<std::int64_t>(bytes);
}

}  // namespace cadre::cluster
