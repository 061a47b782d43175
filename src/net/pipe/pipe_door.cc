#include <netinet/in.h>
#include <sys/socket.h>

#include <optional>
#include <utility>

#include "loop/readable.h"
#include "net/pipe/pipe.h"
#include "net/pipe/sockets.h"

namespace cadre::net {
namespace {

constexpr int backlog = 1024;
constexpr Duration accept_again_after = std::chrono::milliseconds(100);

}  // namespace

struct PipeListener::Inside {
  void listen();
  void accept();

  loop::RealLoop& loop;
  loop::Descriptor socket;
  Cover cover;
  Take take;
  std::optional<loop::Readable> readable;
  loop::Timer pause;
};

void PipeListener::Inside::listen() {
  readable.emplace(loop, socket.get(), [this] { accept(); });
}

void PipeListener::Inside::accept() {
  loop::Descriptor came(::accept4(socket.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!came) {  // perhaps there are too many descriptors: in a while there may be fewer
    pause = loop.after(accept_again_after, [this] { listen(); });
    return readable.reset();
  }
  if (cover == Cover::tls) set_tcp_options(came.get());
  take(std::move(came), cover);
}

PipeListener::PipeListener(loop::RealLoop& loop, loop::Descriptor socket, Cover cover, std::uint16_t port, Take take)
    : inside_(new Inside{loop, std::move(socket), cover, std::move(take), {}, {}}), port_(port) {
  inside_->listen();
}

PipeListener::~PipeListener() = default;

Result<std::unique_ptr<PipeListener>> PipeListener::open(loop::RealLoop& loop, const PipeAddress& address, Take take) {
  TRY_ASSIGN(at, socket_address(address));
  TRY_ASSIGN(socket, make_socket(at.family()));
  const std::string where = address.name.empty() ? address.host + ":" + std::to_string(address.port) : address.name;
  if (::bind(socket.get(), at.get(), at.size) != 0) return loop::system_failure("cannot listen at " + where);
  if (::listen(socket.get(), backlog) != 0) return loop::system_failure("cannot listen at " + where);
  std::uint16_t port = 0;
  if (address.name.empty()) {
    SocketAddress bound;
    bound.size = sizeof bound.storage;
    ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&bound.storage), &bound.size);
    port = ntohs(reinterpret_cast<const sockaddr_in&>(bound.storage).sin_port);  // both families have it there
  }
  const Cover cover = address.name.empty() ? Cover::tls : Cover::none;
  return std::unique_ptr<PipeListener>(new PipeListener(loop, std::move(socket), cover, port, std::move(take)));
}

}  // namespace cadre::net
