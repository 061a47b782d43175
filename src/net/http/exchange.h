/// One request and its three ways of being answered, over a connection that may be gone by then. For the loop's thread;
/// for the files of this folder only.
#pragma once

#include <memory>

#include "net/http/connection.h"
#include "net/http/server.h"

namespace cadre::net::http {

class HttpExchange final : public Exchange {
 public:
  HttpExchange(std::shared_ptr<HttpConnection> connection, Request request);
  ~HttpExchange() override;

  const Request& request() const override { return request_; }
  void release_body() override;
  void answer(Response response) override;
  std::unique_ptr<Stream> stream(Response head) override;
  loop::Task<Result<std::unique_ptr<WebSocket>>> upgrade() override;
  void on_gone(loop::Call call) override;

  /// The peer is gone.
  void tell_gone();

 private:
  Result<std::unique_ptr<WebSocket>> upgrade_now();
  void begin_answer();

  const std::shared_ptr<HttpConnection> connection_;
  Request request_;
  loop::Call gone_;
  bool is_gone_ = false;
  bool answered_ = false;
};

}  // namespace cadre::net::http
