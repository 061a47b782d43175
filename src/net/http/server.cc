#include "net/http/server.h"

#include <algorithm>
#include <boost/asio/ip/tcp.hpp>
#include <utility>

#include "loop/asio_context.h"
#include "net/http/connection.h"
#include "net/http/peer.h"
#include "net/http/response_writer.h"
#include "net/http/service.h"
#include "net/http/wire.h"

namespace cadre::net::http {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

constexpr Duration pause_without_files = std::chrono::milliseconds(100);
constexpr int backlog = 4'096;

/// Says why and closes; who does not hear it sees the end.
void refuse_connection(tcp::socket& socket) {
  std::string text;
  const Response response = problem(503, "there is no room for another connection");
  write_head(text, response, BodyKind::sized, After::close);
  error_code ignored;
  socket.non_blocking(true, ignored);
  socket.write_some(asio::buffer(text + response.body), ignored);
}

}  // namespace

struct Server::Inside : std::enable_shared_from_this<Inside> {
  Inside(loop::RealLoop& loop, Log& log, ServerOptions options, Handler handler)
      : service(std::make_shared<Service>(loop, log, std::move(options), std::move(handler))),
        acceptor(loop::asio_context(loop)) {}

  Result<void> listen();
  void accept();
  void accepted(const error_code& problem, tcp::socket socket);
  void admit(tcp::socket socket);

  const std::shared_ptr<Service> service;
  tcp::acceptor acceptor;
  std::uint16_t port = 0;
  loop::Timer pause;
};

Result<void> Server::Inside::listen() {
  const ServerOptions& options = service->options;
  const std::string where = options.host + ":" + std::to_string(options.port);
  error_code problem;
  tcp::resolver resolver(acceptor.get_executor());
  const auto found = resolver.resolve(options.host, std::to_string(options.port),
                                      tcp::resolver::passive | tcp::resolver::numeric_service, problem);
  if (problem || found.empty()) return fail(Errc::invalid, "cannot listen on " + where + ": " + problem.message());
  const tcp::endpoint endpoint = found.begin()->endpoint();
  acceptor.open(endpoint.protocol(), problem);
  if (!problem) acceptor.set_option(tcp::acceptor::reuse_address(true), problem);
  if (!problem) acceptor.bind(endpoint, problem);
  if (!problem) acceptor.listen(backlog, problem);
  if (problem) {
    const Errc code = problem == asio::error::address_in_use ? Errc::conflict : Errc::invalid;
    return fail(code, "cannot listen on " + where + ": " + problem.message());
  }
  port = acceptor.local_endpoint().port();
  return {};
}

void Server::Inside::accept() {
  acceptor.async_accept([self = shared_from_this()](const error_code& problem, tcp::socket socket) {
    loop::Call call([&] { self->accepted(problem, std::move(socket)); });
    call();
  });
}

void Server::Inside::accepted(const error_code& problem, tcp::socket socket) {
  if (!acceptor.is_open()) return;
  if (!problem) {
    admit(std::move(socket));
  } else if (problem == asio::error::no_descriptors || problem.value() == ENFILE || problem.value() == ENOBUFS ||
             problem.value() == ENOMEM) {
    // Those who wait would be tried again at once and for ever.
    service->log.warning("http: cannot accept a connection: " + problem.message());
    pause = service->loop.after(pause_without_files, [this] { accept(); });
    return;
  }
  accept();
}

void Server::Inside::admit(tcp::socket socket) {
  error_code problem;
  const tcp::endpoint endpoint = socket.remote_endpoint(problem);
  if (problem) return;  // it is gone already
  Peer peer = peer_of(endpoint);
  // One more that says nothing takes the place of the oldest such: a client that asks at once is served.
  const auto of = service->of_network.find(peer.network);
  if (of != service->of_network.end() && std::ssize(of->second.silent) >= service->options.limits.silent_max_each) {
    ++service->counters.evicted_connections;
    of->second.silent.front()->cut();
  }
  if (!service->make_room(peer.network)) {
    ++service->counters.refused_connections;
    if (!service->tls) refuse_connection(socket);
    return;
  }
  socket.non_blocking(true, problem);
  if (!problem) socket.set_option(tcp::no_delay(true), problem);
  if (problem) return;
  const std::shared_ptr<Wire> wire = Wire::add(service, std::move(socket), std::move(peer));
  wire->open(std::make_shared<HttpConnection>(service, *wire));
}

Result<std::unique_ptr<Server>> Server::listen(loop::RealLoop& loop, Log& log, ServerOptions options, Handler handler) {
  std::unique_ptr<TlsContext> tls;
  if (options.tls) {
    TRY_ASSIGN(loaded, TlsContext::load(*options.tls));
    tls = std::move(loaded);
  }
  auto inside = std::make_shared<Inside>(loop, log, std::move(options), std::move(handler));
  inside->service->tls = std::move(tls);
  TRY(inside->listen());
  inside->accept();
  return std::unique_ptr<Server>(new Server(std::move(inside)));
}

Server::Server(std::shared_ptr<Inside> inside) : inside_(std::move(inside)) {}

Server::~Server() {
  error_code ignored;
  inside_->acceptor.close(ignored);
  inside_->pause.cancel();
  Service& service = *inside_->service;
  while (!service.wires.empty()) service.wires.front()->cut();
  service.ticking.cancel();
}

std::uint16_t Server::port() const { return inside_->port; }

const Counters& Server::counters() const { return inside_->service->counters; }

loop::Task<void> Server::drain(Duration most) {
  constexpr Duration between = std::chrono::milliseconds(10);
  const std::shared_ptr<Inside> inside = inside_;
  const std::shared_ptr<Service> service = inside->service;
  error_code ignored;
  inside->acceptor.close(ignored);
  inside->pause.cancel();
  service->draining = true;
  for (auto next = service->wires.begin(); next != service->wires.end();) {
    const std::shared_ptr<Wire> wire = *next++;
    wire->drain();
  }
  const TimePoint begun = service->loop.now();
  const auto is_finished = [](const std::shared_ptr<Wire>& wire) { return wire->is_finished(); };
  while (!std::ranges::all_of(service->wires, is_finished) && service->loop.now() - begun < most) {
    co_await loop::sleep(service->loop, between);
  }
  while (!service->wires.empty()) service->wires.front()->cut();
}

}  // namespace cadre::net::http
