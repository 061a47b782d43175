/// A request whose duration is observed when its response begins, by method, route and class of the status. For the
/// thread of its loop.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "base/metric.h"
#include "loop/loop.h"
#include "net/http/server.h"

namespace cadre::gateway {

class TimedExchange final : public net::http::Exchange {
 public:
  /// The histogram has the labels method, route and status. It and the loop must outlive this.
  TimedExchange(std::unique_ptr<net::http::Exchange> exchange, const loop::Loop& loop, LabelledHistogram& durations)
      : exchange_(std::move(exchange)), loop_(loop), durations_(durations), begun_(loop.now()) {}

  /// The template of its path, never the path itself, so that the number of series is bounded.
  void set_route(std::string route) { route_ = std::move(route); }

  const net::http::Request& request() const override { return exchange_->request(); }
  void release_body() override { exchange_->release_body(); }
  void answer(net::http::Response response) override {
    observe(response.status);
    exchange_->answer(std::move(response));
  }
  std::unique_ptr<net::http::Stream> stream(net::http::Response head) override {
    observe(head.status);
    return exchange_->stream(std::move(head));
  }
  loop::Task<Result<std::unique_ptr<net::http::WebSocket>>> upgrade() override {
    Result<std::unique_ptr<net::http::WebSocket>> socket = co_await exchange_->upgrade();
    observe(socket ? 101 : 400);
    co_return socket;
  }
  void on_gone(loop::Call call) override { exchange_->on_gone(std::move(call)); }

 private:
  void observe(int status) {
    const std::string method(to_string(exchange_->request().method));
    durations_.with({method, route_, std::to_string(status / 100) + "xx"}).observe(loop_.now() - begun_);
  }

  const std::unique_ptr<net::http::Exchange> exchange_;
  const loop::Loop& loop_;
  LabelledHistogram& durations_;
  const TimePoint begun_;
  std::string route_ = "other";  ///< paths that have no route
};

}  // namespace cadre::gateway
