/// Notices that whoever is told something over a WebSocket has gone. For the loop's thread.
#pragma once

#include "loop/task.h"
#include "net/http/server.h"

namespace cadre::gateway {

/// Reads and forgets whatever the peer says until it goes, and then says so. Both must outlive it.
[[nodiscard]] loop::Task<void> listen(net::http::WebSocket& socket, bool& is_gone);

}  // namespace cadre::gateway
