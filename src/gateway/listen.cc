#include "gateway/listen.h"

namespace cadre::gateway {

loop::Task<void> listen(net::http::WebSocket& socket, bool& is_gone) {
  for (;;) {
    const Result<std::string> said = co_await socket.receive();
    if (said) continue;
    is_gone = true;
    co_return;
  }
}

}  // namespace cadre::gateway
