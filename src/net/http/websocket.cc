#include "net/http/websocket.h"

#include <algorithm>
#include <utility>

namespace cadre::net::http {

namespace {

constexpr std::size_t pongs_max = 16 << 10;                 // a peer that asks and does not listen gets no more
constexpr Duration goodbye_wait = std::chrono::seconds(5);  // for the peer's, after ours

class GivenWebSocket final : public WebSocket {
 public:
  explicit GivenWebSocket(std::shared_ptr<WebSocketSession> session) : session_(std::move(session)) {}
  ~GivenWebSocket() override { session_->leave(); }
  loop::Task<Result<void>> send(std::string text) override { return WebSocketSession::send(session_, std::move(text)); }
  loop::Task<Result<std::string>> receive() override { return WebSocketSession::receive(session_); }
  loop::Task<void> close(std::uint16_t code, std::string reason) override {
    return WebSocketSession::close(session_, code, std::move(reason));
  }

 private:
  const std::shared_ptr<WebSocketSession> session_;
};

}  // namespace

std::unique_ptr<WebSocket> make_websocket(std::shared_ptr<WebSocketSession> session) {
  return std::make_unique<GivenWebSocket>(std::move(session));
}

WebSocketSession::WebSocketSession(std::shared_ptr<Service> service, Wire& wire)
    : service_(std::move(service)), wire_(&wire), frames_(service_->options.limits.message_max) {}

void WebSocketSession::start() {
  wait_for_peer();
  process();
}

/// It is pinged in the middle of its time.
void WebSocketSession::wait_for_peer() {
  pinged_ = false;
  wire_->set_deadline(service_->after(service_->options.limits.idle_wait / 2));
}

void WebSocketSession::has_input() {
  if (!said_close_) wait_for_peer();  // after our goodbye the time runs on
  process();
}

void WebSocketSession::process() {
  if (std::exchange(in_process_, true)) return;
  while (wire_ != nullptr && !message_) {
    const FrameReader::Taken taken = frames_.take(wire_->input().view());
    wire_->consume(taken.bytes);
    if (taken.event == FrameReader::Event::none) break;
    handle(taken.event);
  }
  in_process_ = false;
  if (wire_ == nullptr) return;
  if (message_) {
    wire_->set_deadline(TimePoint::max());  // now the peer waits for us
  } else {
    wire_->read();
  }
}

void WebSocketSession::handle(FrameReader::Event event) {
  switch (event) {
    case FrameReader::Event::none:
    case FrameReader::Event::pong: return;
    case FrameReader::Event::message:
      if (said_close_) return;  // it was on its way
      message_ = std::exchange(frames_.payload(), {});
      return received_.ring();
    case FrameReader::Event::ping:
      if (said_close_ || wire_->unsent() > pongs_max) return;
      return wire_->send(frame_head(Opcode::pong, frames_.payload().size()), frames_.payload());
    case FrameReader::Event::close:
      why_over_ = "the peer has closed with " + std::to_string(frames_.close_code());
      // 1005 stands for no code at all and is not to be said.
      say_close(frames_.close_code() == 1005 ? close_normal : frames_.close_code(), "");
      return end();
    case FrameReader::Event::refused:
      ++(frames_.close_code() == close_too_large ? service_->counters.refused_large
                                                 : service_->counters.refused_malformed);
      why_over_ = "the peer has sent a malformed or too large message";
      say_close(frames_.close_code(), "");
      return end();
  }
}

void WebSocketSession::say_close(std::uint16_t code, std::string_view reason) {
  if (std::exchange(said_close_, true)) return;
  std::string payload = close_payload(code, reason);
  const std::string head = frame_head(Opcode::close, payload.size());
  wire_->send(head, std::move(payload));
}

void WebSocketSession::end() {
  std::exchange(wire_, nullptr)->finish();
  wake_soon();
}

/// Not inside the call in which it ended.
void WebSocketSession::wake_soon() {
  service_->loop.post([self = shared_from_this()] {
    self->sent_.ring();
    self->received_.ring();
    self->closed_.ring();
  });
}

void WebSocketSession::has_sent() { sent_.ring(); }

void WebSocketSession::is_late() {
  if (wire_->is_blocked() && !said_close_) return wait_for_peer();  // it cannot hear a ping before what it still reads
  if (said_close_ || pinged_) {
    if (pinged_) ++service_->counters.timed_out;
    return wire_->cut();
  }
  pinged_ = true;
  wire_->send(frame_head(Opcode::ping, 0), {});
  wire_->set_deadline(service_->after(service_->options.limits.idle_wait / 2));
}

void WebSocketSession::peer_ended() { wire_->cut(); }

void WebSocketSession::lost() {
  wire_ = nullptr;
  wake_soon();
}

loop::Task<Result<void>> WebSocketSession::send(std::shared_ptr<WebSocketSession> to, std::string text) {
  if (to->wire_ == nullptr || to->said_close_) co_return fail(Errc::unavailable, to->why_over_);
  const std::string head = frame_head(Opcode::text, text.size());
  to->wire_->send(head, std::move(text));
  while (to->wire_ != nullptr && to->wire_->is_blocked()) co_await to->sent_.wait();
  if (to->wire_ == nullptr) co_return fail(Errc::unavailable, to->why_over_);
  co_return Result<void>();
}

loop::Task<Result<std::string>> WebSocketSession::receive(std::shared_ptr<WebSocketSession> from) {
  while (!from->message_ && from->wire_ != nullptr) co_await from->received_.wait();
  if (!from->message_) co_return fail(Errc::unavailable, from->why_over_);
  std::string message = *std::exchange(from->message_, std::nullopt);
  if (from->wire_ != nullptr) {
    from->wait_for_peer();
    from->process();
  }
  co_return message;
}

loop::Task<void> WebSocketSession::close(std::shared_ptr<WebSocketSession> from, std::uint16_t code,
                                         std::string reason) {
  if (from->wire_ == nullptr) co_return;
  from->why_over_ = "it was closed with " + std::to_string(code);
  from->say_close(code, reason);
  from->message_.reset();
  from->wire_->set_deadline(from->service_->after(goodbye_wait));
  from->process();
  while (from->wire_ != nullptr) co_await from->closed_.wait();
}

void WebSocketSession::leave() {
  if (wire_ == nullptr) return;
  say_close(close_going_away, "");
  end();
}

}  // namespace cadre::net::http
