#include "objects/stores/http_url.h"

#include <algorithm>
#include <utility>

#include "net/host_port.h"
#include "net/http/message.h"

namespace cadre::objects {

namespace {

constexpr std::uint16_t http_port = 80;
constexpr std::uint16_t https_port = 443;

bool is_of_path(char c) {
  return c > ' ' && c < '\x7f' && std::string_view("?#\"<>\\^`{|}").find(c) == std::string::npos;
}

}  // namespace

std::string HttpUrl::authority() const {
  const bool is_usual = port == (is_tls ? https_port : http_port);
  return is_usual ? host : host + ":" + std::to_string(port);
}

std::string HttpUrl::origin() const { return (is_tls ? "https://" : "http://") + authority(); }

Result<HttpUrl> parse_http_url(std::string_view text) {
  HttpUrl url;
  url.is_tls = text.starts_with("https://");
  if (!url.is_tls && !text.starts_with("http://")) {
    return fail(Errc::invalid, "must begin with http:// or https://");
  }
  text.remove_prefix(text.find("://") + 3);
  const std::size_t slash = std::min(text.find('/'), text.size());
  const std::string_view place = text.substr(0, slash);
  std::string_view path = text.substr(slash);
  if (place.find('@') != std::string_view::npos) return fail(Errc::invalid, "must not contain a user or a password");
  if (place.find_first_of("?#") != std::string_view::npos || !std::ranges::all_of(path, is_of_path) ||
      !net::http::unescape(path)) {
    return fail(Errc::invalid, "must have the form http://host:port/path");
  }
  Result<net::HostPort> parsed = net::parse_host_port(place);
  if (!parsed) return fail(Errc::invalid, "must have the form http://host:port: " + parsed.error().message);
  if (parsed->port == 0 || parsed->host == "*") return fail(Errc::invalid, "must name a host and a port that is not 0");
  while (path.ends_with('/')) path.remove_suffix(1);
  url.host = net::host_in_address(parsed->host);
  url.port = parsed->port.value_or(url.is_tls ? https_port : http_port);
  url.path = path;
  return url;
}

}  // namespace cadre::objects
