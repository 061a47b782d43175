#include "net/address.h"

#include <algorithm>
#include <charconv>

#include "base/overloaded.h"

namespace cadre::net {
namespace {

constexpr std::size_t host_bytes_max = 253;
constexpr std::size_t path_bytes_max = 107;  // sun_path holds 108, with the NUL

Failure bad_address(std::string_view text, std::string_view why) {
  return fail(Errc::invalid, "the address \"" + std::string(text.substr(0, 300)) + "\": " + std::string(why) +
                                 "; write tcp://host:port or ipc:///absolute/path");
}

bool is_host_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_';
}

bool is_ipv6_character(char c) {
  return (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F') || (c >= '0' && c <= '9') || c == ':' || c == '.';
}

Result<Address> parse_tcp(std::string_view text, std::string_view rest) {
  const std::size_t colon = rest.rfind(':');
  if (colon == std::string_view::npos) return bad_address(text, "it names no port");
  std::string_view host = rest.substr(0, colon);
  const std::string_view port = rest.substr(colon + 1);
  if (host.empty()) return bad_address(text, "it names no host (* is every address of this one)");
  if (host.size() > host_bytes_max) return bad_address(text, "its host is longer than 253 bytes");
  if (host.starts_with('[')) {
    if (!host.ends_with(']')) return bad_address(text, "the bracket around its IPv6 address is not closed");
    host = host.substr(1, host.size() - 2);
    if (host.find(':') == std::string_view::npos || !std::all_of(host.begin(), host.end(), is_ipv6_character)) {
      return bad_address(text, "what stands in its brackets is not an IPv6 address");
    }
  } else if (host.find(':') != std::string_view::npos) {
    return bad_address(text, "an IPv6 address needs brackets, as in tcp://[::1]:7000");
  } else if (host != "*" && !std::all_of(host.begin(), host.end(), is_host_character)) {
    return bad_address(text, "its host has a character that no name of a host has");
  }
  std::uint16_t number = 0;
  const auto [end, problem] = std::from_chars(port.data(), port.data() + port.size(), number);
  if (problem != std::errc() || end != port.data() + port.size()) {
    return bad_address(text, "its port is not a number from 0 to 65535");
  }
  return TcpAddress{std::string(host), number};
}

Result<Address> parse_unix(std::string_view text, std::string_view path) {
  if (!path.starts_with('/')) return bad_address(text, "its path is not absolute");
  if (path.ends_with('/')) return bad_address(text, "its path names no file");
  if (path.find('\0') != std::string_view::npos) return bad_address(text, "its path holds a NUL byte");
  if (path.size() > path_bytes_max) {
    return bad_address(text, "its path has " + std::to_string(path.size()) +
                                 " bytes, and a unix socket takes at most 107: choose a folder nearer to the root");
  }
  return UnixAddress{std::string(path)};
}

}  // namespace

Result<Address> parse_address(std::string_view text) {
  constexpr std::string_view tcp = "tcp://";
  constexpr std::string_view ipc = "ipc://";
  if (text.starts_with(tcp)) return parse_tcp(text, text.substr(tcp.size()));
  if (text.starts_with(ipc)) return parse_unix(text, text.substr(ipc.size()));
  return bad_address(text, "it begins with neither tcp:// nor ipc://");
}

std::string to_string(const Address& address) {
  return std::visit(overloaded{
                        [](const TcpAddress& tcp) {
                          const bool ipv6 = tcp.host.find(':') != std::string::npos;
                          return "tcp://" + (ipv6 ? "[" + tcp.host + "]" : tcp.host) + ":" + std::to_string(tcp.port);
                        },
                        [](const UnixAddress& local) { return "ipc://" + local.path; },
                    },
                    address);
}

}  // namespace cadre::net
