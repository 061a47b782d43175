/// Where a master is reached by agents of other hosts. Safe on any thread.
#pragma once

#include <string>

#include "base/result.h"

namespace cadre::app {

/// Where the master listens beyond its own host.
struct Endpoints {
  std::string control;
  std::string bulk;
  std::string join;
};

/// The three of them, from the setting `listen`.
[[nodiscard]] Result<Endpoints> endpoints(const std::string& listen);

/// The same address by the name under which others reach this host: one that is given, or, when it listens on all its
/// addresses, its own name.
[[nodiscard]] std::string seen_from_outside(const std::string& address, const std::string& host);

}  // namespace cadre::app
