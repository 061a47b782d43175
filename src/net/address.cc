#include "net/address.h"

#include "base/overloaded.h"
#include "net/host_port.h"

namespace cadre::net {
namespace {

constexpr std::size_t path_bytes_max = 107;  // sun_path holds 108, with the NUL

Failure bad_address(std::string_view text, std::string_view why) {
  return fail(Errc::invalid, "the address \"" + std::string(text.substr(0, 300)) + "\": " + std::string(why) +
                                 "; write tcp://host:port or ipc:///absolute/path");
}

Result<Address> parse_tcp(std::string_view text, std::string_view rest) {
  const Result<HostPort> parsed = parse_host_port(rest);
  if (!parsed) return bad_address(text, parsed.error().message);
  if (!parsed->port) return bad_address(text, "it has no port");
  return TcpAddress{parsed->host, *parsed->port};
}

Result<Address> parse_unix(std::string_view text, std::string_view path) {
  if (!path.starts_with('/')) return bad_address(text, "its path is not absolute");
  if (path.ends_with('/')) return bad_address(text, "its path has no file name");
  if (path.find('\0') != std::string_view::npos) return bad_address(text, "its path holds a NUL byte");
  if (path.size() > path_bytes_max) {
    return bad_address(text, "its path has " + std::to_string(path.size()) +
                                 " bytes, and a unix socket takes at most 107: choose a shorter path");
  }
  return UnixAddress{std::string(path)};
}

}  // namespace

Result<Address> parse_address(std::string_view text) {
  constexpr std::string_view tcp = "tcp://";
  constexpr std::string_view ipc = "ipc://";
  if (text.starts_with(tcp)) return parse_tcp(text, text.substr(tcp.size()));
  if (text.starts_with(ipc)) return parse_unix(text, text.substr(ipc.size()));
  return bad_address(text, "it must begin with tcp:// or ipc://");
}

std::string to_string(const Address& address) {
  return std::visit(
      overloaded{
          [](const TcpAddress& tcp) { return "tcp://" + host_in_address(tcp.host) + ":" + std::to_string(tcp.port); },
          [](const UnixAddress& local) { return "ipc://" + local.path; },
      },
      address);
}

}  // namespace cadre::net
