/// Detects that the client of a WebSocket has disconnected. For the loop's thread.
#pragma once

#include "loop/task.h"
#include "net/http/server.h"

namespace cadre::gateway {

/// Reads and discards messages until the peer disconnects, then sets `is_gone`. Both must outlive it.
[[nodiscard]] loop::Task<void> listen(net::http::WebSocket& socket, bool& is_gone);

}  // namespace cadre::gateway
