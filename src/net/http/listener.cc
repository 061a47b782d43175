#include "net/http/listener.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

namespace cadre::net::http {

namespace {

constexpr int backlog = 4'096;
constexpr int kind = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;

Failure refusal(const std::string& where, int error_number) {
  const Errc code = error_number == EADDRINUSE ? Errc::conflict : Errc::invalid;
  return fail(code, "cannot listen on " + where + ": " + std::strerror(error_number));
}

}  // namespace

Result<loop::Descriptor> listen_at(const std::string& host, std::uint16_t port) {
  const std::string digits = std::to_string(port);
  const std::string where = host + ":" + digits;
  addrinfo hints{};
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int problem = ::getaddrinfo(host.c_str(), digits.c_str(), &hints, &found);
  if (problem != 0) return fail(Errc::invalid, "cannot listen on " + where + ": " + ::gai_strerror(problem));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> first(found, &::freeaddrinfo);
  loop::Descriptor socket(::socket(first->ai_family, kind, first->ai_protocol));
  const int yes = 1;
  const bool is_listening = socket && ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0 &&
                            ::bind(socket.get(), first->ai_addr, first->ai_addrlen) == 0 &&
                            ::listen(socket.get(), backlog) == 0;
  if (!is_listening) return refusal(where, errno);
  return socket;
}

Result<loop::Descriptor> listen_at_path(const std::string& path) {
  sockaddr_un at{};
  at.sun_family = AF_UNIX;
  if (path.size() >= sizeof at.sun_path) return refusal(path, ENAMETOOLONG);
  std::memcpy(at.sun_path, path.data(), path.size());
  loop::Descriptor socket(::socket(AF_UNIX, kind, 0));
  ::unlink(path.c_str());  // of a master before; who connects to it reaches nobody
  const bool is_listening = socket && ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0 &&
                            ::listen(socket.get(), backlog) == 0;
  if (!is_listening) return refusal(path, errno);
  return socket;
}

std::uint16_t port_of(const loop::Descriptor& listener) {
  sockaddr_storage at{};
  socklen_t size = sizeof at;
  if (::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&at), &size) != 0) return 0;
  if (at.ss_family == AF_INET) return ntohs(reinterpret_cast<const sockaddr_in&>(at).sin_port);
  if (at.ss_family == AF_INET6) return ntohs(reinterpret_cast<const sockaddr_in6&>(at).sin6_port);
  return 0;
}

}  // namespace cadre::net::http
