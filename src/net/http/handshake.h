/// How a server agrees to go on as a WebSocket. Pure; safe on any thread.
#pragma once

#include <variant>

#include "net/http/message.h"

namespace cadre::net::http {

/// The headers of a 101, or the answer to a request that asks for it in a wrong way.
[[nodiscard]] std::variant<Headers, Response> agree_on_websocket(const Request& request);

}  // namespace cadre::net::http
