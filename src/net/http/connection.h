/// One peer that asks over HTTP/1.1: its requests come one after another and are answered in their order. For the
/// loop's thread; for the files of this folder only.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "net/http/bell.h"
#include "net/http/request_reader.h"
#include "net/http/response_writer.h"
#include "net/http/service.h"
#include "net/http/wire.h"

namespace cadre::net::http {

class HttpExchange;

class HttpConnection final : public Wire::User, public std::enable_shared_from_this<HttpConnection> {
 public:
  HttpConnection(std::shared_ptr<Service> service, Wire& wire);
  HttpConnection(const HttpConnection&) = delete;
  HttpConnection& operator=(const HttpConnection&) = delete;
  ~HttpConnection() override;

  void opened() override;
  void has_input() override;
  void has_sent() override;
  void is_late() override;
  void speaks_plain() override;
  void peer_ended() override;
  void drain() override;
  void lost() override;

  // For the present exchange and what it makes.
  void answer(Response response);
  void begin_stream(Response head);
  /// Goes on when no piece waits any more. The coroutines keep their connection.
  [[nodiscard]] static loop::Task<Result<void>> write(std::shared_ptr<HttpConnection> to, std::string piece);
  [[nodiscard]] Result<void> end_stream();
  void break_stream();
  /// Answers 101 with these headers and leaves the wire, which is still there, to another.
  void switch_to(std::shared_ptr<Wire::User> user, const Headers& headers);
  /// The exchange has ended.
  void forget(const HttpExchange& exchange);

  Wire* wire() { return wire_; }
  const std::shared_ptr<Service>& service() { return service_; }

 private:
  /// From `answering` on it is somebody else's turn.
  enum class Phase : std::uint8_t { idle, header, body, answering, streaming };
  void process();
  void count_body();
  void serve();
  void wait_for_more();
  void refuse(int status, std::string_view title);
  void ensure_sound(Response& response);
  void send_whole(Response response);
  void answered();
  void end();
  void set_phase(Phase phase);
  void tell_gone();

  const std::shared_ptr<Service> service_;
  Wire* wire_;  // none: it is over, or another's
  RequestReader reader_;
  Phase phase_ = Phase::idle;
  std::size_t body_counted_ = 0;  // of what all hold together; an exchange counts its own
  bool in_process_ = false;
  bool said_continue_ = false;
  Bell sent_;
  std::string head_;  // where heads are spelled

  // Of the present exchange:
  HttpExchange* exchange_ = nullptr;  // while it lives
  After after_ = After::keep;
  BodyKind stream_kind_ = BodyKind::chunked;
  bool is_head_ = false;
};

}  // namespace cadre::net::http
