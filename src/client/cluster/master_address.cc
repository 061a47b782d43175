#include "client/cluster/master_address.h"

#include <algorithm>
#include <cctype>
#include <cstdint>

#include "net/host_port.h"

namespace cadre::client {
namespace {

constexpr std::uint16_t default_port = 7310;
constexpr std::string_view examples =
    "; write an address like host:7310, http://host:7310 or https://host:7310, or the data folder of a master on this "
    "host";

struct Url {
  std::string_view scheme;  ///< empty: none was written
  std::string_view user;    ///< with its @
  std::string_view place;   ///< host and port
  std::string_view path;
};

Url split(std::string_view text) {
  Url url;
  if (const std::size_t end = text.find("://"); end != std::string_view::npos) {
    url.scheme = text.substr(0, end);
    text.remove_prefix(end + 3);
  }
  url.place = text.substr(0, text.find('/'));
  url.path = text.substr(url.place.size());
  if (const std::size_t at = url.place.rfind('@'); at != std::string_view::npos) {
    url.user = url.place.substr(0, at + 1);
    url.place.remove_prefix(at + 1);
  }
  return url;
}

/// Whether a text without a scheme is meant as host:port, with any number. A folder of such a name is ./host:port.
bool looks_like_address(const Url& url) {
  std::string_view host = url.place;
  while (!host.empty() && std::isdigit(static_cast<unsigned char>(host.back())) != 0) host.remove_suffix(1);
  if (host.size() == url.place.size() || !host.ends_with(':')) return false;
  host.remove_suffix(1);
  return url.path.find_first_not_of('/') == std::string_view::npos && url.user.empty() && net::parse_host_port(host);
}

std::string key_of(std::string_view text) {
  const Url url = split(text);
  net::HostPort place = net::parse_host_port(url.place).value_or(net::HostPort{std::string(url.place), {}});
  std::transform(place.host.begin(), place.host.end(), place.host.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  if (place.host == "localhost" || place.host == "::1") place.host = "127.0.0.1";
  const std::string scheme(url.scheme);
  const std::string port = std::to_string(place.port.value_or(scheme == "https" ? 443 : 80));
  return scheme + "://" + std::string(url.user) + place.host + ":" + port + plain_url(url.path);
}

}  // namespace

std::string host_port_of(std::string_view url) { return std::string(split(url).place); }

std::string plain_url(std::string_view url) {
  while (url.ends_with('/')) url.remove_suffix(1);
  return std::string(url);
}

Result<MasterAddress> parse_master_address(std::string_view text) {
  const Url url = split(text);
  const std::string shown(text);
  if (url.scheme.empty() && text.find("://") == std::string_view::npos && !looks_like_address(url)) {
    return MasterAddress{"", shown};
  }
  const auto refuse = [&](const std::string& why) {
    return fail(Errc::invalid, "'" + shown + "' is not an address of a master" + (why.empty() ? "" : ": " + why) +
                                   std::string(examples));
  };
  const bool is_http = url.scheme == "http" || url.scheme == "https";
  if (!is_http && !url.scheme.empty() && url.scheme != "cadre") return refuse("");
  if (text.find_first_of("?#") != std::string_view::npos) return refuse("");
  const Result<net::HostPort> place = net::parse_host_port(url.place);
  if (!place) return refuse(place.error().message);
  if (place->port == 0) return refuse("its port is 0");
  if (is_http) return MasterAddress{plain_url(text), ""};
  return MasterAddress{plain_url("http://" + std::string(url.user) + net::host_in_address(place->host) + ":" +
                                 std::to_string(place->port.value_or(default_port)) + std::string(url.path)),
                       ""};
}

bool is_same_master(std::string_view url, std::string_view other) { return key_of(url) == key_of(other); }

}  // namespace cadre::client
