#include "net/http/wire.h"

#include <array>
#include <boost/asio/buffer.hpp>
#include <utility>

#include "loop/call.h"

namespace cadre::net::http {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {

constexpr std::size_t read_ahead = 4 << 10;                // beyond the largest header
constexpr std::size_t copied_max = 8 << 10;                // a smaller body is sent in one piece with its head
constexpr std::size_t kept_max = 64 << 10;                 // a larger buffer is given back when it is empty
constexpr Duration hearing_out = std::chrono::seconds(2);  // what a peer still sends while it reads our last words

}  // namespace

Wire::Wire(std::shared_ptr<Service> service, Protocol::socket socket, Peer peer)
    : service_(std::move(service)),
      socket_(std::move(socket)),
      peer_(std::move(peer)),
      input_(static_cast<std::size_t>(service_->options.limits.header_max.value) + read_ahead) {
  if (service_->tls) tls_ = std::make_unique<TlsSession>(*service_->tls);
}

Wire::~Wire() = default;

std::shared_ptr<Wire> Wire::add(const std::shared_ptr<Service>& service, Protocol::socket socket, Peer peer) {
  service->watch();
  auto wire = std::make_shared<Wire>(service, std::move(socket), std::move(peer));
  wire->place_ = service->wires.insert(service->wires.end(), wire);
  ++service->counters.connections;
  ++service->counters.open;
  Service::Of& of = service->of_network[wire->peer_.network];
  of.silent.push_back(wire.get());
  wire->place_in_network_ = of.waiting.insert(of.waiting.end(), wire.get());
  wire->waits_since_ = ++service->waits;
  return wire;
}

void Wire::open(std::shared_ptr<User> user) {
  user_ = std::move(user);
  if (tls_) {
    deadline_ = service_->after(service_->options.limits.handshake_wait);
  } else {
    is_open_ = true;
    user_->opened();
  }
  read();
}

void Wire::hand_over(std::shared_ptr<User> user) { user_ = std::move(user); }

/// No exception may reach the loop, and the user must not be destroyed during its own call.
template <class Fn>
void Wire::call(Fn fn) {
  const std::shared_ptr<User> user = user_;
  loop::Call call([&] { fn(); });
  call();
}

void Wire::read() {
  if (reads_ || input_ended_ || !socket_ || input_.is_full()) return;
  if (tls_) {
    reads_ = true;
    socket_->async_wait(Protocol::socket::wait_read, [self = shared_from_this()](const error_code& problem) {
      self->reads_ = false;
      if (problem || !self->socket_) return;
      self->call([&] { self->read_coded(); });
    });
    return;
  }
  const std::span<char> room = input_.free_room();
  reads_ = true;
  socket_->async_read_some(asio::buffer(room.data(), room.size()),
                           [self = shared_from_this()](const error_code& problem, std::size_t size) {
                             self->reads_ = false;
                             if (!self->socket_) return;
                             self->call([&] { self->have_read(problem, size); });
                           });
}

void Wire::have_read(const error_code& problem, std::size_t size) {
  if (problem) return got_end(problem);
  input_.grown(size);
  pass_input();
}

void Wire::pass_input() {
  if (ending_ == Ending::no) return user_->has_input();
  input_.consume(input_.view().size());
  read();
}

void Wire::got_end(const error_code& problem) {
  input_ended_ = true;
  if (problem != asio::error::eof || ending_ == Ending::listening) return cut();
  if (ending_ == Ending::no) user_->peer_ended();
}

void Wire::read_coded() {
  std::array<char, 16 << 10> coded;
  error_code problem;
  const std::size_t size = socket_->read_some(asio::buffer(coded), problem);
  if (problem == asio::error::would_block) return read();
  if (problem) {
    if (!is_open_) ++service_->counters.handshakes_failed;
    return is_open_ ? got_end(problem) : cut();
  }
  take_coded({coded.data(), size});
}

void Wire::take_coded(std::string_view bytes) {
  // A method of HTTP begins with a letter, and no record of TLS does.
  if (!std::exchange(has_heard_, true) && bytes.front() >= 'A' && bytes.front() <= 'Z') {
    ++service_->counters.handshakes_failed;
    tls_.reset();
    is_open_ = true;
    return user_->speaks_plain();
  }
  std::string plain;
  tls_->take(bytes, plain, out_);
  flush();
  if (tls_->state() == TlsSession::State::failed) {
    if (!is_open_) ++service_->counters.handshakes_failed;
    return cut();
  }
  if (!is_open_ && tls_->state() != TlsSession::State::shaking) {
    is_open_ = true;
    user_->opened();
  }
  input_.append(plain);
  if (!plain.empty()) pass_input();
  if (!socket_) return;
  if (tls_->state() == TlsSession::State::ended) return got_end(asio::error::eof);
  if (plain.empty()) read();
}

void Wire::send(std::string_view head, std::string body) {
  if (!socket_ || is_dropped_) return;
  const bool is_large = !tls_ && body.size() > copied_max;
  put(head, is_large ? std::string_view() : std::string_view(body));
  if (is_large) body_ = std::make_shared<const std::string>(std::move(body));
  owns_body_ = is_large;
  flush();
}

void Wire::send_shared(std::string_view head, std::shared_ptr<const std::string> document) {
  if (!socket_ || is_dropped_) return;
  put(head, tls_ ? std::string_view(*document) : std::string_view());
  if (!tls_) body_ = std::move(document);
  owns_body_ = false;
  flush();
}

/// Behind all that waits.
void Wire::put(std::string_view head, std::string_view body) {
  if (body_) out_ += *std::exchange(body_, nullptr);  // of an answer before, of which some still waits
  if (!tls_) {
    (out_ += head) += body;
  } else {
    tls_->put(body.empty() ? std::string(head) : std::string(head).append(body), out_);
  }
}

void Wire::count_held() {
  const std::size_t before =
      std::exchange(held_, socket_ ? out_.size() + (body_ && owns_body_ ? body_->size() : 0) : 0);
  service_->unsent += held_ - before;
  if (held_ > before) service_->bound_unsent();
}

void Wire::drop_unsent() {
  is_dropped_ = true;
  cut_soon();
}

void Wire::uncork() {
  corked_ = false;
  flush();
}

void Wire::flush() {
  write_out();
  count_held();
}

void Wire::write_out() {
  if (corked_ || waits_to_write_ || !socket_) return;
  while (unsent() > 0) {
    const std::size_t of_out = std::min(sent_, out_.size());
    const std::size_t of_body = sent_ - of_out;
    const std::array<asio::const_buffer, 2> pieces = {asio::buffer(out_) + of_out,
                                                      (body_ ? asio::buffer(*body_) : asio::const_buffer()) + of_body};
    error_code problem;
    const std::size_t size = socket_->write_some(pieces, problem);
    if (problem == asio::error::would_block) return wait_to_write();
    if (problem) return cut_soon();
    sent_ += size;
    write_deadline_ = TimePoint::max();
  }
  sent_ = 0;
  out_.clear();
  if (out_.capacity() > kept_max) out_.shrink_to_fit();
  body_ = nullptr;
}

void Wire::wait_to_write() {
  waits_to_write_ = true;
  if (write_deadline_ == TimePoint::max()) write_deadline_ = service_->after(service_->options.limits.write_wait);
  socket_->async_wait(Protocol::socket::wait_write, [self = shared_from_this()](const error_code& problem) {
    self->waits_to_write_ = false;
    if (problem || !self->socket_) return;
    self->call([&] {
      self->flush();
      if (self->socket_ && self->unsent() == 0) self->have_flushed();
    });
  });
}

void Wire::have_flushed() {
  if (ending_ == Ending::no) return user_->has_sent();
  if (ending_ == Ending::flushing) end_sending();
}

/// The peer takes nothing any more. That is found in the midst of a call of the user, who hears of it later.
void Wire::cut_soon() {
  out_ = {};
  body_ = nullptr;
  sent_ = 0;
  count_held();
  service_->loop.post([self = shared_from_this()] { self->cut(self->is_dropped_ ? How::reset : How::close); });
}

void Wire::finish() {
  if (!socket_ || ending_ != Ending::no) return;
  user_ = nullptr;
  ending_ = Ending::flushing;
  note_answered();
  deadline_ = TimePoint::max();
  uncork();
  if (socket_ && unsent() == 0) end_sending();
}

/// A connection that is closed while the peer still sends is reset, and the peer may lose what it has not read yet.
void Wire::end_sending() {
  ending_ = Ending::listening;
  if (tls_) {
    tls_->end(out_);
    flush();
  }
  if (input_ended_ || !socket_ || unsent() > 0) return cut();
  error_code ignored;
  socket_->shutdown(Protocol::socket::shutdown_send, ignored);
  deadline_ = service_->after(hearing_out);
  input_.consume(input_.view().size());
  read();
}

void Wire::cut(How how) {
  if (!socket_) return;
  const std::shared_ptr<Wire> self = shared_from_this();
  error_code ignored;
  if (how == How::reset) socket_->set_option(asio::socket_base::linger(true, 0), ignored);
  socket_.reset();
  count_held();
  service_->wires.erase(place_);
  --service_->counters.open;
  leave_silent();
  const auto of = service_->of_network.find(peer_.network);
  (is_busy_ ? of->second.busy : of->second.waiting).erase(place_in_network_);
  if (of->second.open() == 0) service_->of_network.erase(of);
  if (const std::shared_ptr<User> user = std::exchange(user_, nullptr)) user->lost();
}

void Wire::leave_silent() {
  if (std::exchange(is_silent_, false)) std::erase(service_->of_network.at(peer_.network).silent, this);
}

void Wire::note_request() {
  leave_silent();
  if (std::exchange(is_busy_, true)) return;
  Service::Of& of = service_->of_network.at(peer_.network);
  of.busy.splice(of.busy.end(), of.waiting, place_in_network_);
}

void Wire::note_answered() {
  if (!socket_ || !std::exchange(is_busy_, false)) return;
  Service::Of& of = service_->of_network.at(peer_.network);
  of.waiting.splice(of.waiting.end(), of.busy, place_in_network_);
  waits_since_ = ++service_->waits;
}

void Wire::drain() {
  if (ending_ == Ending::no) call([this] { user_->drain(); });
}

void Wire::sweep(TimePoint present) {
  if (waits_to_write_ && present >= write_deadline_) {
    ++service_->counters.timed_out;
    return cut(How::reset);
  }
  if (present < deadline_) return;
  deadline_ = TimePoint::max();
  if (ending_ != Ending::no) return cut();
  if (is_open_) return call([this] { user_->is_late(); });
  ++service_->counters.timed_out;
  cut();
}

}  // namespace cadre::net::http
