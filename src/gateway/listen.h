/// Detects that the client of a WebSocket has disconnected. For the loop's thread.
#pragma once

#include <functional>

#include "loop/task.h"
#include "net/http/server.h"

namespace cadre::gateway {

/// Reads and discards messages until the peer disconnects, then sets `is_gone` and calls `on_gone`. All must outlive
/// it.
[[nodiscard]] loop::Task<void> listen(net::http::WebSocket& socket, bool& is_gone,
                                      std::function<void()> on_gone = nullptr);

}  // namespace cadre::gateway
