/// One peer after it has gone on as a WebSocket. For the loop's thread; for the files of this folder only.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "net/http/bell.h"
#include "net/http/frames.h"
#include "net/http/server.h"
#include "net/http/service.h"
#include "net/http/wire.h"

namespace cadre::net::http {

/// Reads at most one message ahead of who receives. Ours outlives the WebSocket that is given out, which ends it.
class WebSocketSession final : public Wire::User, public std::enable_shared_from_this<WebSocketSession> {
 public:
  WebSocketSession(std::shared_ptr<Service> service, Wire& wire);
  /// Once the wire is this one's: begins with what came already.
  void start();

  void opened() override {}
  void has_input() override;
  void has_sent() override;
  void is_late() override;
  void speaks_plain() override {}
  void peer_ended() override;
  void drain() override {}
  void lost() override;

  // The coroutines keep their session.
  [[nodiscard]] static loop::Task<Result<void>> send(std::shared_ptr<WebSocketSession> to, std::string text);
  [[nodiscard]] static loop::Task<Result<std::string>> receive(std::shared_ptr<WebSocketSession> from);
  [[nodiscard]] static loop::Task<void> close(std::shared_ptr<WebSocketSession> from, std::uint16_t code,
                                              std::string reason);
  /// Nobody receives or sends any more.
  void leave();

 private:
  void process();
  void handle(FrameReader::Event event);
  void say_close(std::uint16_t code, std::string_view reason);
  void end();
  void wait_for_peer();
  void wake_soon();

  const std::shared_ptr<Service> service_;
  Wire* wire_;  // none: it is over
  FrameReader frames_;
  std::optional<std::string> message_;  // not received yet
  bool in_process_ = false;
  bool said_close_ = false;
  bool pinged_ = false;
  std::string why_over_ = "the peer has disconnected";
  Bell sent_;
  Bell received_;
  Bell closed_;
};

/// What is given out.
std::unique_ptr<WebSocket> make_websocket(std::shared_ptr<WebSocketSession> session);

}  // namespace cadre::net::http
