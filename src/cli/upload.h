/// Brings a folder to the master as packed code. For the thread of the session's loop, which it blocks while it packs.
#pragma once

#include <string>

#include "cli/session.h"

namespace cadre::cli {

/// The content hash by which tasks name it. Sends only what the master does not have yet.
[[nodiscard]] loop::Task<Got<std::string>> upload(Session& session, std::string folder);

}  // namespace cadre::cli
