/// For tests of what speaks HTTP: a server and a client on one loop, and ways to wait for them. One thread at a time.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "base/log.h"
#include "loop/real_loop.h"
#include "loop/task.h"
#include "net/http/client.h"
#include "net/http/server.h"

namespace cadre::net::http {

using std::chrono::milliseconds;
using std::chrono::seconds;

template <class T>
loop::Task<void> keep_result(loop::Task<T> task, std::optional<T>& into) {
  T result = co_await std::move(task);
  into.emplace(std::move(result));
}

/// Runs the loop until something holds; a failure when that takes longer than a minute, as on no machine it should.
inline void run_until(loop::RealLoop& loop, const std::function<bool()>& holds) {
  const TimePoint end = loop.now() + seconds(60);
  loop::Timer timer;
  std::function<void()> look = [&] {
    if (holds() || loop.now() >= end) return loop.stop();
    timer = loop.after(std::chrono::microseconds(200), look);
  };
  look();
  loop.run();
  EXPECT_TRUE(holds()) << "not within a minute";
}

inline void run_for(loop::RealLoop& loop, Duration time) {
  const TimePoint end = loop.now() + time;
  run_until(loop, [&] { return loop.now() >= end; });
}

/// Runs the loop until the task has ended.
template <class T>
T run_task(loop::RealLoop& loop, loop::Task<T> task) {
  std::optional<T> result;
  loop.spawn(keep_result(std::move(task), result));
  run_until(loop, [&] { return result.has_value(); });
  return *std::move(result);
}

inline Response text(std::string body) {
  return {.status = 200, .content_type = "text/plain", .body = std::move(body), .headers = {}};
}

/// A server and one client on a loop.
struct HttpSides {
  explicit HttpSides(Server::Handler handler, ServerOptions options = {}, ClientOptions client_options = {})
      : server(Server::listen(loop, log, std::move(options), std::move(handler)).value()),
        client(std::make_unique<Client>(loop, std::move(client_options))) {}

  std::string url(const std::string& target) const {
    return "http://127.0.0.1:" + std::to_string(server->port()) + target;
  }
  Result<Response> ask(Question question) { return run_task(loop, client->ask(std::move(question))); }
  Result<Response> get(const std::string& target) {
    Question question;
    question.url = url(target);
    return ask(std::move(question));
  }

  loop::RealLoop loop;
  SilentLog log;
  std::unique_ptr<Server> server;
  std::unique_ptr<Client> client;
};

/// A server on a thread of its own, for tests that speak to it over blocking sockets.
class ServerOnThread {
 public:
  explicit ServerOnThread(Server::Handler handler, ServerOptions options = {})
      : server_(Server::listen(loop_, log_, std::move(options), std::move(handler)).value()),
        thread_([this] { loop_.run(); }) {}
  ServerOnThread(const ServerOnThread&) = delete;
  ServerOnThread& operator=(const ServerOnThread&) = delete;
  ~ServerOnThread() {
    loop_.stop();
    thread_.join();
  }

  std::uint16_t port() const { return server_->port(); }
  loop::RealLoop& loop() { return loop_; }

  /// Calls it on the loop and gives what it gives.
  template <class Fn>
  auto on_loop(Fn fn) {
    std::promise<decltype(fn(*server_))> promise;
    loop_.post([&] { promise.set_value(fn(*server_)); });
    return promise.get_future().get();
  }
  /// With everything that the loop had begun to handle.
  const Counters& counters() {
    return *on_loop([](Server& server) { return &server.counters(); });
  }
  /// Waits until the counters are as they should be; a failure when that takes longer than a minute.
  void expect(const std::function<bool(const Counters&)>& holds) {
    const auto end = std::chrono::steady_clock::now() + seconds(60);
    while (!holds(counters()) && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(milliseconds(1));
    EXPECT_TRUE(holds(counters())) << "not within a minute";
  }

 private:
  loop::RealLoop loop_;
  SilentLog log_;
  std::unique_ptr<Server> server_;
  std::thread thread_;
};

}  // namespace cadre::net::http
