// Bare Beast: answers every request with 13 bytes, on one thread. Prints its port, and serves until it is ended.
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <cstdio>
#include <memory>

namespace http = boost::beast::http;
using boost::asio::ip::tcp;

struct Session : std::enable_shared_from_this<Session> {
  explicit Session(tcp::socket s) : stream(std::move(s)) {}

  void read() {
    request = {};
    http::async_read(stream, buffer, request,
                     [self = shared_from_this()](boost::system::error_code error, std::size_t) {
                       if (!error) self->write();
                     });
  }
  void write() {
    response = {http::status::ok, request.version()};
    response.set(http::field::content_type, "text/plain");
    response.keep_alive(request.keep_alive());
    response.body() = "Hello, world!";
    response.prepare_payload();
    http::async_write(stream, response, [self = shared_from_this()](boost::system::error_code error, std::size_t) {
      if (!error) self->read();
    });
  }

  boost::beast::tcp_stream stream;
  boost::beast::flat_buffer buffer;
  http::request<http::string_body> request;
  http::response<http::string_body> response;
};

void accept(tcp::acceptor& acceptor) {
  acceptor.async_accept([&acceptor](boost::system::error_code error, tcp::socket socket) {
    if (!error) {
      socket.set_option(tcp::no_delay(true));
      std::make_shared<Session>(std::move(socket))->read();
    }
    accept(acceptor);
  });
}

int main() {
  boost::asio::io_context context(1);
  tcp::acceptor acceptor(context, {boost::asio::ip::make_address("127.0.0.1"), 0});
  std::printf("%d\n", acceptor.local_endpoint().port());
  std::fflush(stdout);
  accept(acceptor);
  context.run();
}
