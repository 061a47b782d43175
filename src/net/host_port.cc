#include "net/host_port.h"

#include <algorithm>
#include <charconv>

namespace cadre::net {
namespace {

constexpr std::size_t host_bytes_max = 253;

bool is_host_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_';
}

bool is_ipv6_character(char c) {
  return (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F') || (c >= '0' && c <= '9') || c == ':' || c == '.';
}

Failure wrong(const char* clause) { return fail(Errc::invalid, clause); }

/// Cuts the host off; what is left is empty or begins with a colon.
Result<std::string> cut_host(std::string_view& text) {
  if (!text.starts_with('[')) {
    const std::string_view host = text.substr(0, text.find(':'));
    text.remove_prefix(host.size());
    if (text.find(':', 1) != std::string_view::npos) return wrong("an IPv6 address needs brackets, as in [::1]:7310");
    if (host.empty()) return wrong("it has no host");
    if (host.size() > host_bytes_max) return wrong("its host is longer than 253 bytes");
    if (host != "*" && !std::all_of(host.begin(), host.end(), is_host_character)) {
      return wrong("its host has a character that is not allowed");
    }
    return std::string(host);
  }
  const std::size_t end = text.find(']');
  if (end == std::string_view::npos) return wrong("the bracket around its IPv6 address is not closed");
  const std::string_view host = text.substr(1, end - 1);
  text.remove_prefix(end + 1);
  if (host.size() > host_bytes_max || host.find(':') == std::string_view::npos ||
      !std::all_of(host.begin(), host.end(), is_ipv6_character)) {
    return wrong("the text in its brackets is not an IPv6 address");
  }
  if (!text.empty() && !text.starts_with(':')) return wrong("only a port may follow the bracket, as in [::1]:7310");
  return std::string(host);
}

}  // namespace

Result<HostPort> parse_host_port(std::string_view text) {
  HostPort parsed;
  TRY_ASSIGN(host, cut_host(text));
  parsed.host = std::move(host);
  if (text.empty()) return parsed;
  const char* end = text.data() + text.size();
  std::uint16_t port = 0;
  const auto [stop, problem] = std::from_chars(text.data() + 1, end, port);
  if (problem != std::errc() || stop != end) return wrong("its port is not a number from 0 to 65535");
  parsed.port = port;
  return parsed;
}

std::string host_in_address(const std::string& host) {
  return host.find(':') == std::string::npos ? host : "[" + host + "]";
}

bool is_loopback(std::string_view host) {
  return host == "localhost" || host == "::1" ||
         (host.starts_with("127.") && host.find_first_not_of("0123456789.") == std::string_view::npos);
}

}  // namespace cadre::net
