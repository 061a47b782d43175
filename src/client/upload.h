/// Brings a folder to the master as packed code. For the thread of the connection's loop, which it blocks while it
/// packs.
#pragma once

#include <string>
#include <vector>

#include "client/connection.h"

namespace cadre::client {

struct Uploaded {
  std::string hash;                  ///< by which tasks name it
  std::vector<std::string> skipped;  ///< neither files nor folders nor links; the first few
};

/// Sends only what the master does not have yet.
[[nodiscard]] loop::Task<Got<Uploaded>> upload(Connection& connection, std::string folder);

}  // namespace cadre::client
