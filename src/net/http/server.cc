#include "net/http/server.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <utility>

#include "loop/asio_context.h"
#include "loop/descriptor.h"
#include "net/http/connection.h"
#include "net/http/listener.h"
#include "net/http/peer.h"
#include "net/http/response_writer.h"
#include "net/http/service.h"
#include "net/http/wire.h"

namespace cadre::net::http {

namespace asio = boost::asio;
using Acceptor = asio::basic_socket_acceptor<Protocol>;
using boost::system::error_code;

namespace {

constexpr Duration pause_without_files = std::chrono::milliseconds(100);

/// Says why and closes; who does not hear it sees the end.
void refuse_connection(Protocol::socket& socket) {
  std::string text;
  const Response response = problem(503, "there are too many connections");
  write_head(text, response, BodyKind::sized, After::close);
  error_code ignored;
  socket.non_blocking(true, ignored);
  socket.write_some(asio::buffer(text + response.body), ignored);
}

}  // namespace

struct Server::Inside : std::enable_shared_from_this<Inside> {
  Inside(loop::RealLoop& loop, Log& log, ServerOptions options, Handler handler)
      : service(std::make_shared<Service>(loop, log, std::move(options), std::move(handler))),
        by_port{Acceptor(loop::asio_context(loop)), {}},
        by_path{Acceptor(loop::asio_context(loop)), {}} {}

  struct Entrance {
    Acceptor acceptor;
    loop::Timer pause;
  };

  Result<void> listen();
  Result<void> listen(Entrance& entrance, loop::Descriptor listener);
  void accept(Entrance& entrance);
  void accepted(Entrance& entrance, const error_code& problem, Protocol::socket socket);
  void admit(Protocol::socket socket);
  /// Lets nobody in any more.
  void close();

  const std::shared_ptr<Service> service;
  Entrance by_port;
  Entrance by_path;
  std::uint16_t port = 0;
};

Result<void> Server::Inside::listen() {
  const ServerOptions& options = service->options;
  loop::Descriptor listener(options.listener < 0 ? -1 : ::fcntl(options.listener, F_DUPFD_CLOEXEC, 0));
  if (!listener) {
    TRY_ASSIGN(opened, listen_at(options.host, options.port));
    listener = std::move(opened);
  }
  port = port_of(listener);
  TRY(listen(by_port, std::move(listener)));
  if (options.path.empty()) return {};
  TRY_ASSIGN(opened, listen_at_path(options.path));
  return listen(by_path, std::move(opened));
}

Result<void> Server::Inside::listen(Entrance& entrance, loop::Descriptor listener) {
  sockaddr_storage at{};
  socklen_t size = sizeof at;
  if (::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&at), &size) != 0) {
    return loop::system_failure("cannot listen");
  }
  error_code problem;
  entrance.acceptor.assign(Protocol(at.ss_family, 0), listener.get(), problem);
  if (problem) return fail(Errc::invalid, "cannot listen: " + problem.message());
  static_cast<void>(listener.release());
  accept(entrance);
  return {};
}

void Server::Inside::close() {
  for (Entrance* entrance : {&by_port, &by_path}) {
    error_code ignored;
    entrance->acceptor.close(ignored);
    entrance->pause.cancel();
  }
}

void Server::Inside::accept(Entrance& entrance) {
  entrance.acceptor.async_accept(
      [self = shared_from_this(), &entrance](const error_code& problem, Protocol::socket socket) {
        loop::Call call([&] { self->accepted(entrance, problem, std::move(socket)); });
        call();
      });
}

void Server::Inside::accepted(Entrance& entrance, const error_code& problem, Protocol::socket socket) {
  if (!entrance.acceptor.is_open()) return;
  if (!problem) {
    admit(std::move(socket));
  } else if (problem == asio::error::no_descriptors || problem.value() == ENFILE || problem.value() == ENOBUFS ||
             problem.value() == ENOMEM) {
    // Those who wait would be tried again at once and for ever.
    service->log.warning("http: cannot accept a connection: " + problem.message());
    entrance.pause = service->loop.after(pause_without_files, [this, &entrance] { accept(entrance); });
    return;
  }
  accept(entrance);
}

void Server::Inside::admit(Protocol::socket socket) {
  error_code problem;
  const Protocol::endpoint endpoint = socket.remote_endpoint(problem);
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
  if (!problem && endpoint.protocol().family() != AF_UNIX) {
    socket.set_option(asio::ip::tcp::no_delay(true), problem);
  }
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
  return std::unique_ptr<Server>(new Server(std::move(inside)));
}

Server::Server(std::shared_ptr<Inside> inside) : inside_(std::move(inside)) {}

Server::~Server() {
  inside_->close();
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
  inside->close();
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
