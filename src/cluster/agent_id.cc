#include "cluster/agent_id.h"

#include <algorithm>
#include <string>

namespace cadre::cluster {

Result<void> check_agent_id(std::string_view id) {
  const auto is_allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == '.' || c == '@' || c == ':';
  };
  if (id.empty()) return fail(Errc::invalid, "the id of the agent is empty; give it one with --id");
  if (id.size() > agent_id_most) {
    return fail(Errc::invalid, "the id of the agent has " + std::to_string(id.size()) + " characters; use at most " +
                                   std::to_string(agent_id_most));
  }
  if (!std::all_of(id.begin(), id.end(), is_allowed) || id.front() == '.' || id.front() == '-') {
    return fail(Errc::invalid,
                "the ID of an agent consists of letters, digits and - _ . @ : and must not begin with . or -");
  }
  return {};
}

}  // namespace cadre::cluster
