/// Unix sockets that only their owner can reach: the folder they stand in keeps others out. Safe on any thread.
#pragma once

#include <string>

#include "base/result.h"

namespace cadre::net {

/// Denied when others may look into the socket's folder or write there, not_found when there is none.
[[nodiscard]] Result<void> check_private_folder(const std::string& path);

/// Conflict when another process listens there, or when something stands there that is not a socket: it would be
/// removed. A socket that a process left behind is no hindrance.
[[nodiscard]] Result<void> check_free(const std::string& path);

}  // namespace cadre::net
