/// How agents may be called. Safe on any thread.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/result.h"

namespace cadre::cluster {

/// Longest id of an agent.
constexpr std::size_t agent_id_most = 128;

/// Errc::invalid when no agent may be called so: letters, digits and - _ . @ :, not first a dot or a dash.
[[nodiscard]] Result<void> check_agent_id(std::string_view id);

}  // namespace cadre::cluster
