/// For tests: a WebSocket from the side of the peer, by Beast and so by others than who wrote the server's. Blocks; one
/// thread at a time.
#pragma once

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/websocket.hpp>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

#include "net/http/message.h"

namespace cadre::net::http {

class WebSocketForTests {
 public:
  struct Closed : std::runtime_error {
    explicit Closed(std::uint16_t c, const std::string& why) : std::runtime_error(why), code(c) {}
    std::uint16_t code;  ///< 0: without a goodbye
  };

  /// Throws std::runtime_error, with the status if there is one, when the server does not agree.
  static WebSocketForTests connect(const std::string& host, std::uint16_t port, const std::string& target,
                                   const Headers& headers = {}) {
    WebSocketForTests made;
    boost::asio::ip::tcp::resolver resolver(*made.context_);
    boost::asio::connect(made.stream_->next_layer(), resolver.resolve(host, std::to_string(port)));
    made.stream_->set_option(
        boost::beast::websocket::stream_base::decorator([&](boost::beast::websocket::request_type& request) {
          for (const auto& [name, value] : headers) request.set(name, value);
        }));
    boost::beast::websocket::response_type response;
    boost::system::error_code problem;
    made.stream_->handshake(response, host + ":" + std::to_string(port), target, problem);
    if (problem) throw std::runtime_error(std::to_string(response.result_int()) + " " + problem.message());
    return made;
  }

  enum class Kind : std::uint8_t { text, binary };
  void send(const std::string& message, Kind kind = Kind::text) {
    stream_->binary(kind == Kind::binary);
    stream_->write(boost::asio::buffer(message));
  }
  /// In as many frames as the pieces.
  void send_in_pieces(const std::vector<std::string>& pieces) {
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      stream_->write_some(i + 1 == pieces.size(), boost::asio::buffer(pieces[i]));
    }
  }
  void ping(const std::string& payload) { stream_->ping({payload.data(), payload.size()}); }

  /// The next message. Throws Closed when the server says goodbye or goes.
  std::string receive() {
    boost::beast::flat_buffer buffer;
    boost::system::error_code problem;
    stream_->read(buffer, problem);
    if (problem) throw Closed(heard_->close_code, problem.message());
    return std::string(static_cast<const char*>(buffer.data().data()), buffer.size());
  }
  /// What came beside the messages while it received.
  struct Heard {
    int pings = 0;
    int pongs = 0;
    std::uint16_t close_code = 0;
    std::string close_reason;
  };
  const Heard& heard() const { return *heard_; }

  void close(std::uint16_t code = 1000, const std::string& reason = "") {
    boost::system::error_code ignored;
    stream_->close({boost::beast::websocket::close_code(code), reason}, ignored);
  }
  /// Without a goodbye.
  void cut() { stream_->next_layer().close(); }
  /// Bytes that are no frame of Beast's.
  void say_raw(const std::string& bytes) { boost::asio::write(stream_->next_layer(), boost::asio::buffer(bytes)); }

 private:
  using Stream = boost::beast::websocket::stream<boost::asio::ip::tcp::socket>;
  WebSocketForTests() {
    using boost::beast::websocket::frame_type;
    stream_->control_callback([heard = heard_.get(), stream = stream_.get()](frame_type kind, const auto& payload) {
      if (kind == frame_type::ping) ++heard->pings;
      if (kind == frame_type::pong) ++heard->pongs;
      if (kind != frame_type::close) return;
      heard->close_code = stream->reason().code;  // Beast forgets it when it has closed
      heard->close_reason.assign(payload.data(), payload.size());
    });
  }

  std::unique_ptr<boost::asio::io_context> context_ = std::make_unique<boost::asio::io_context>();
  std::unique_ptr<Stream> stream_ = std::make_unique<Stream>(*context_);
  std::unique_ptr<Heard> heard_ = std::make_unique<Heard>();
};

}  // namespace cadre::net::http
