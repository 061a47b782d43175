#include "gateway/listen.h"

namespace cadre::gateway {

loop::Task<void> listen(net::http::WebSocket& socket, bool& is_gone, std::function<void()> on_gone) {
  for (;;) {
    const Result<std::string> said = co_await socket.receive();
    if (said) continue;
    is_gone = true;
    if (on_gone) on_gone();
    co_return;
  }
}

}  // namespace cadre::gateway
