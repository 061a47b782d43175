#include "net/http/exchange.h"

#include <utility>
#include <variant>

#include "base/check.h"
#include "net/http/handshake.h"
#include "net/http/websocket.h"

namespace cadre::net::http {

namespace {

class HttpStream final : public Stream {
 public:
  explicit HttpStream(std::shared_ptr<HttpConnection> connection) : connection_(std::move(connection)) {}
  ~HttpStream() override {
    if (!ended_) connection_->break_stream();
  }
  loop::Task<Result<void>> write(std::string piece) override {
    CHECK(!ended_);
    return HttpConnection::write(connection_, std::move(piece));
  }
  loop::Task<Result<void>> end() override {
    CHECK(!std::exchange(ended_, true));
    co_return connection_->end_stream();
  }

 private:
  const std::shared_ptr<HttpConnection> connection_;
  bool ended_ = false;
};

}  // namespace

HttpExchange::HttpExchange(std::shared_ptr<HttpConnection> connection, Request request)
    : connection_(std::move(connection)), request_(std::move(request)) {
  connection_->service()->bodies_held += request_.body.size();
}

HttpExchange::~HttpExchange() {
  release_body();
  connection_->forget(*this);
}

void HttpExchange::release_body() {
  connection_->service()->bodies_held -= request_.body.size();
  std::string().swap(request_.body);
}

void HttpExchange::begin_answer() { CHECK(!std::exchange(answered_, true)); }

void HttpExchange::answer(Response response) {
  begin_answer();
  connection_->answer(std::move(response));
}

std::unique_ptr<Stream> HttpExchange::stream(Response head) {
  begin_answer();
  connection_->begin_stream(std::move(head));
  return std::make_unique<HttpStream>(connection_);
}

void HttpExchange::on_gone(loop::Call call) {
  if (is_gone_) return connection_->service()->loop.post(std::move(call));
  gone_ = std::move(call);
}

void HttpExchange::tell_gone() {
  is_gone_ = true;
  loop::Call call = std::exchange(gone_, {});
  if (call) call();
}

loop::Task<Result<std::unique_ptr<WebSocket>>> HttpExchange::upgrade() {
  begin_answer();
  co_return upgrade_now();
}

Result<std::unique_ptr<WebSocket>> HttpExchange::upgrade_now() {
  if (connection_->wire() == nullptr) return fail(Errc::unavailable, "the peer has disconnected");
  const std::variant<Headers, Response> agreed = agree_on_websocket(request_);
  if (const Response* refusal = std::get_if<Response>(&agreed)) {
    connection_->answer(*refusal);
    return fail(Errc::invalid, "the request for a WebSocket is malformed");
  }
  auto session = std::make_shared<WebSocketSession>(connection_->service(), *connection_->wire());
  connection_->switch_to(session, std::get<Headers>(agreed));
  session->start();
  return make_websocket(std::move(session));
}

}  // namespace cadre::net::http
