#include "net/stream.h"

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <utility>

#include "loop/asio_context.h"
#include "loop/call.h"
#include "net/http/tls.h"

namespace cadre::net {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

struct Stream::Inside : std::enable_shared_from_this<Inside> {
  Inside(loop::RealLoop& l, StreamOptions o, User& u)
      : loop(l),
        options(std::move(o)),
        user(&u),
        resolver(std::in_place, loop::asio_context(l)),
        socket(std::in_place, loop::asio_context(l)) {}

  void begin();
  void connect(const tcp::resolver::results_type& found);
  void connected();
  void read();
  void have_read();
  void take(std::string_view bytes);
  void flush();
  void now_open();
  void fail_soon(Errc code, const std::string& why);
  void end_with(Errc code, const std::string& why);
  void end();
  std::string where() const { return options.host + ":" + std::to_string(options.port); }

  /// Nothing may throw into the loop; what ended meanwhile is not called.
  template <class... Rest, class Fn>
  auto guarded(Fn fn) {
    return [self = shared_from_this(), fn](const error_code& problem, const Rest&... rest) {
      if (self->user == nullptr) return;
      loop::Call call([&] { fn(problem, rest...); });
      call();
    };
  }

  loop::RealLoop& loop;
  const StreamOptions options;
  User* user;                             // null once it is over
  std::optional<tcp::resolver> resolver;  // both empty once it is over: this may outlive the loop
  std::optional<tcp::socket> socket;
  std::unique_ptr<http::TlsContext> context;
  std::unique_ptr<http::TlsSession> tls;
  loop::Timer late;
  loop::Timer soon;
  bool is_open = false;
  std::string out;
  std::size_t sent = 0;
  bool waits_to_write = false;
};

void Stream::Inside::begin() {
  late = loop.after(options.connect_wait, [this] { end_with(Errc::unavailable, "not connected in time"); });
  if (options.is_tls) {
    Result<std::unique_ptr<http::TlsContext>> loaded = http::TlsContext::trust(options.ca_file);
    if (!loaded) return fail_soon(loaded.error().code, loaded.error().message);
    context = *std::move(loaded);
  }
  resolver->async_resolve(
      options.host, std::to_string(options.port), tcp::resolver::numeric_service,
      guarded<tcp::resolver::results_type>([this](const error_code& problem, const tcp::resolver::results_type& found) {
        if (problem) return end_with(Errc::unavailable, problem.message());
        connect(found);
      }));
}

void Stream::Inside::connect(const tcp::resolver::results_type& found) {
  asio::async_connect(*socket, found, guarded<tcp::endpoint>([this](const error_code& problem, const tcp::endpoint&) {
    if (problem) return end_with(Errc::unavailable, problem.message());
    connected();
  }));
}

void Stream::Inside::connected() {
  error_code problem;
  socket->set_option(tcp::no_delay(true), problem);
  if (!problem) socket->non_blocking(true, problem);
  if (problem) return end_with(Errc::unavailable, problem.message());
  read();
  if (!context) return now_open();
  tls = std::make_unique<http::TlsSession>(*context, options.host);
  tls->begin(out);
  flush();
}

void Stream::Inside::now_open() {
  is_open = true;
  late.cancel();
  user->opened();
}

void Stream::Inside::read() {
  socket->async_wait(tcp::socket::wait_read, guarded([this](const error_code& problem) {
                       if (problem) return end_with(Errc::unavailable, problem.message());
                       have_read();
                     }));
}

void Stream::Inside::have_read() {
  std::array<char, 64 << 10> bytes;
  error_code problem;
  const std::size_t size = socket->read_some(asio::buffer(bytes), problem);
  if (problem == asio::error::would_block) return read();
  if (problem == asio::error::eof) return end_with(Errc::unavailable, "the server has closed the connection");
  if (problem) return end_with(Errc::unavailable, problem.message());
  take({bytes.data(), size});
  if (user != nullptr) read();
}

void Stream::Inside::take(std::string_view bytes) {
  if (!tls) return user->received(bytes);
  std::string plain;
  tls->take(bytes, plain, out);
  flush();
  if (user == nullptr) return;
  using State = http::TlsSession::State;
  if (tls->state() == State::failed) {
    const std::string why = tls->distrust();
    if (!why.empty()) return end_with(Errc::denied, "its certificate is not trusted: " + why);
    return end_with(Errc::unavailable, "TLS failed; check that the server uses TLS on this port");
  }
  if (!is_open && tls->state() != State::shaking) now_open();
  if (user != nullptr && !plain.empty()) user->received(plain);
  if (user != nullptr && tls->state() == State::ended) {
    end_with(Errc::unavailable, "the server has closed the connection");
  }
}

void Stream::Inside::flush() {
  while (socket && !waits_to_write && sent < out.size()) {
    error_code problem;
    const std::size_t size = socket->write_some(asio::buffer(out) + sent, problem);
    if (problem == asio::error::would_block) {
      waits_to_write = true;
      socket->async_wait(tcp::socket::wait_write, guarded([this](const error_code& failed) {
                           waits_to_write = false;
                           if (failed) return end_with(Errc::unavailable, failed.message());
                           flush();
                         }));
    } else if (problem) {
      return fail_soon(Errc::unavailable, problem.message());
    } else {
      sent += size;
    }
  }
  out.erase(0, std::exchange(sent, 0));
}

/// For what is found in the midst of a call of the user's.
void Stream::Inside::fail_soon(Errc code, const std::string& why) {
  soon = loop.after(Duration::zero(), [this, code, why] { end_with(code, why); });
}

void Stream::Inside::end_with(Errc code, const std::string& why) {
  const std::shared_ptr<Inside> self = shared_from_this();
  User* const told = user;
  end();
  if (told != nullptr) told->lost(Error{code, where() + ": " + why});
}

void Stream::Inside::end() {
  user = nullptr;
  late.cancel();
  soon.cancel();
  resolver.reset();
  socket.reset();
}

Stream::Stream(loop::RealLoop& loop, StreamOptions options, User& user)
    : inside_(std::make_shared<Inside>(loop, std::move(options), user)) {
  inside_->begin();
}

Stream::~Stream() {
  if (inside_->tls && inside_->is_open && inside_->user != nullptr) {
    inside_->tls->end(inside_->out);
    inside_->flush();
  }
  inside_->end();
}

void Stream::send(std::string_view bytes) {
  if (inside_->user == nullptr) return;
  if (inside_->out.size() + bytes.size() > inside_->options.unsent_max) {
    return inside_->fail_soon(Errc::unavailable, "the server accepts no more data");
  }
  if (inside_->tls) {
    inside_->tls->put(bytes, inside_->out);
  } else {
    inside_->out += bytes;
  }
  inside_->flush();
}

}  // namespace cadre::net
