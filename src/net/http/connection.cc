#include "net/http/connection.h"

#include <charconv>
#include <utility>

#include "net/http/exchange.h"

namespace cadre::net::http {

namespace {

constexpr std::size_t held_back_max = 64 << 10;  // of answers to requests that came together

Failure gone() { return fail(Errc::unavailable, "the peer has disconnected"); }

std::string chunk_head(std::size_t size) {
  char digits[16];
  return std::string(digits, std::to_chars(digits, digits + sizeof digits, size, 16).ptr) + "\r\n";
}

}  // namespace

HttpConnection::HttpConnection(std::shared_ptr<Service> service, Wire& wire)
    : service_(std::move(service)), wire_(&wire), reader_(service_->rules) {}

HttpConnection::~HttpConnection() { service_->bodies_held -= body_counted_; }

void HttpConnection::opened() { set_phase(Phase::idle); }

void HttpConnection::has_input() {
  if (phase_ == Phase::body) wire_->set_deadline(service_->after(service_->options.limits.body_wait));
  process();
}

void HttpConnection::has_sent() {
  sent_.ring();
  if (wire_ != nullptr) process();
}

void HttpConnection::set_phase(Phase phase) {
  if (phase_ == phase && phase != Phase::idle) return;  // a header has one wait in all
  phase_ = phase;
  const Limits& limits = service_->options.limits;
  switch (phase) {
    case Phase::idle:  // who has not asked for anything yet only holds a connection
      return wire_->set_deadline(service_->after(wire_->is_silent() ? limits.header_wait : limits.idle_wait));
    case Phase::header: return wire_->set_deadline(service_->after(limits.header_wait));
    case Phase::body: return wire_->set_deadline(service_->after(limits.body_wait));
    case Phase::answering:
    case Phase::streaming: return wire_->set_deadline(TimePoint::max());
  }
}

/// Reads and serves as long as requests are there, are answered at once, and the peer takes the answers. Those leave
/// together.
void HttpConnection::process() {
  if (std::exchange(in_process_, true)) return;
  while (wire_ != nullptr && phase_ < Phase::answering && !wire_->is_blocked()) {
    wire_->cork();
    wire_->consume(reader_.take(wire_->input().view()));
    count_body();
    if (service_->bodies_held > static_cast<std::size_t>(service_->options.limits.bodies_max.value) &&
        body_counted_ > 0) {
      refuse(503, "too much data waits to be sent; try again");
    } else if (reader_.state() == RequestReader::State::refused) {
      refuse(reader_.refusal().status, reader_.refusal().title);
    } else if (reader_.state() == RequestReader::State::whole) {
      serve();
      if (wire_ != nullptr && wire_->unsent() > held_back_max) wire_->uncork();
    } else {
      wait_for_more();
      break;
    }
  }
  in_process_ = false;
  if (wire_ == nullptr) return;
  wire_->uncork();
  wire_->read();  // also while somebody answers: it tells when the peer goes
}

void HttpConnection::count_body() {
  service_->bodies_held += reader_.body_held() - body_counted_;
  body_counted_ = reader_.body_held();
}

void HttpConnection::wait_for_more() {
  if (reader_.state() == RequestReader::State::body) {
    set_phase(Phase::body);
    if (reader_.expects_continue() && !std::exchange(said_continue_, true)) {
      wire_->send("HTTP/1.1 100 Continue\r\n\r\n", {});
    }
  } else {
    set_phase(reader_.has_begun() || !wire_->input().empty() ? Phase::header : Phase::idle);
  }
}

void HttpConnection::serve() {
  ++service_->counters.requests;
  wire_->note_request();
  set_phase(Phase::answering);
  Request& request = reader_.request();
  request.peer = wire_->peer();
  after_ = reader_.keeps_alive() ? After::keep : After::close;
  stream_kind_ = reader_.is_http_1_0() ? BodyKind::until_close : BodyKind::chunked;
  is_head_ = request.method == Method::head;
  said_continue_ = false;
  auto exchange = std::make_unique<HttpExchange>(shared_from_this(), std::move(request));
  exchange_ = exchange.get();
  reader_.next();
  count_body();  // the exchange counts it from now on
  service_->handler(std::move(exchange));
}

void HttpConnection::refuse(int status, std::string_view title) {
  Counters& counters = service_->counters;
  ++(status == 413 || status == 431 ? counters.refused_large
     : status == 408                ? counters.timed_out
     : status == 503                ? counters.refused_bodies
                                    : counters.refused_malformed);
  after_ = After::close;
  is_head_ = false;
  send_whole(problem(status, title));
  end();
}

/// What would be read as something else is a defect of ours, but none for which to end.
void HttpConnection::ensure_sound(Response& response) {
  if (is_sound(response)) return;
  service_->log.error("http: a response has a status or a header that cannot be sent");
  response = problem(500, "the response cannot be sent");
}

void HttpConnection::send_whole(Response response) {
  ensure_sound(response);
  head_.clear();
  write_head(head_, response, BodyKind::sized, after_);
  const bool is_bare = is_head_ || !has_body(response.status);
  if (response.document && !is_bare) return wire_->send_shared(head_, std::move(response.document));
  wire_->send(head_, is_bare ? std::string() : std::move(response.body));
}

void HttpConnection::answer(Response response) {
  if (wire_ == nullptr) return;
  if (service_->draining) after_ = After::close;
  send_whole(std::move(response));
  answered();
}

void HttpConnection::answered() {
  exchange_ = nullptr;
  if (after_ == After::close || service_->draining) return end();
  wire_->note_answered();
  set_phase(Phase::idle);
  if (in_process_ || wire_->input().empty()) return;
  service_->loop.post([self = shared_from_this()] {  // not inside the call of who answers
    if (self->wire_ != nullptr) self->process();
  });
}

void HttpConnection::end() {
  exchange_ = nullptr;
  std::exchange(wire_, nullptr)->finish();
}

void HttpConnection::begin_stream(Response head) {
  if (wire_ == nullptr) return;
  set_phase(Phase::streaming);
  ensure_sound(head);
  if (stream_kind_ == BodyKind::until_close || service_->draining) after_ = After::close;
  if (!has_body(head.status)) is_head_ = true;
  head_.clear();
  write_head(head_, head, stream_kind_, after_);
  wire_->uncork();
  wire_->send(head_, {});
}

loop::Task<Result<void>> HttpConnection::write(std::shared_ptr<HttpConnection> to, std::string piece) {
  if (to->wire_ == nullptr) co_return gone();
  if (piece.empty() || to->is_head_) co_return Result<void>();
  std::string head;
  if (to->stream_kind_ == BodyKind::chunked) {
    head = chunk_head(piece.size());
    piece += "\r\n";
  }
  to->wire_->send(head, std::move(piece));
  while (to->wire_ != nullptr && to->wire_->is_blocked()) co_await to->sent_.wait();
  if (to->wire_ == nullptr) co_return gone();
  co_return Result<void>();
}

Result<void> HttpConnection::end_stream() {
  if (wire_ == nullptr) return gone();
  if (stream_kind_ == BodyKind::chunked && !is_head_) wire_->send("0\r\n\r\n", {});
  answered();
  return {};
}

void HttpConnection::break_stream() {
  if (wire_ == nullptr) return;
  exchange_ = nullptr;
  wire_->cut(Wire::How::reset);
}

void HttpConnection::switch_to(std::shared_ptr<Wire::User> user, const Headers& headers) {
  std::string head = "HTTP/1.1 101 Switching Protocols\r\n";
  for (const auto& [name, value] : headers) (((head += name) += ": ") += value) += "\r\n";
  exchange_ = nullptr;
  Wire& wire = *std::exchange(wire_, nullptr);
  wire.hand_over(std::move(user));
  wire.uncork();
  wire.send(head + "\r\n", {});
}

void HttpConnection::forget(const HttpExchange& exchange) {
  if (exchange_ != &exchange) return;
  exchange_ = nullptr;
  if (phase_ == Phase::answering) answer(problem(500, "no response was given"));
}

void HttpConnection::is_late() {
  if (wire_->unsent() > 0) return wire_->set_deadline(service_->after(service_->options.limits.idle_wait));
  if (phase_ == Phase::idle) return wire_->cut();
  refuse(408, phase_ == Phase::header ? "the header did not arrive in time" : "the body did not arrive in time");
}

void HttpConnection::speaks_plain() { refuse(400, "this port speaks HTTPS"); }

void HttpConnection::peer_ended() { phase_ < Phase::answering ? end() : wire_->cut(); }

void HttpConnection::drain() {
  if (phase_ == Phase::idle && wire_->unsent() == 0) wire_->cut();
}

void HttpConnection::lost() {
  wire_ = nullptr;
  if (phase_ < Phase::answering) return;
  service_->loop.post([self = shared_from_this()] { self->tell_gone(); });
}

void HttpConnection::tell_gone() {
  if (exchange_ != nullptr) exchange_->tell_gone();
  sent_.ring();
}

}  // namespace cadre::net::http
