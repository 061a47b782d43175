#include "client/gang/card.h"

#include <unistd.h>

#include <array>
#include <climits>

#include "client/cluster/data_folder.h"

namespace cadre::client {

std::string place_of_process() {
  const std::string agent = variable("CADRE_AGENT");
  if (!agent.empty()) return "agent " + agent;
  std::array<char, HOST_NAME_MAX + 1> name{};
  return ::gethostname(name.data(), HOST_NAME_MAX) == 0 ? "host " + std::string(name.data()) : "this host";
}

}  // namespace cadre::client
