#include "client/master_address.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <optional>

namespace cadre::client {
namespace {

constexpr std::uint16_t default_port = 7310;
constexpr std::string_view examples =
    "; write an address like host:7310, http://host:7310 or https://host:7310, or the data folder of a master on this "
    "host";

struct Url {
  std::string_view scheme;  ///< empty: none was written
  std::string_view user;    ///< with its @
  std::string_view host;
  std::optional<std::string_view> port;
  std::string_view path;
};

Url split(std::string_view text) {
  Url url;
  if (const std::size_t end = text.find("://"); end != std::string_view::npos) {
    url.scheme = text.substr(0, end);
    text.remove_prefix(end + 3);
  }
  std::string_view place = text.substr(0, text.find('/'));
  url.path = text.substr(place.size());
  if (const std::size_t at = place.rfind('@'); at != std::string_view::npos) {
    url.user = place.substr(0, at + 1);
    place.remove_prefix(at + 1);
  }
  const std::size_t colon = place.rfind(':');
  const bool has_port = colon != std::string_view::npos && place.find(']', colon) == std::string_view::npos;
  url.host = place.substr(0, has_port ? colon : place.size());
  if (has_port) url.port = place.substr(colon + 1);
  return url;
}

std::optional<std::uint16_t> port_of(std::string_view text) {
  std::uint16_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number == 0) return std::nullopt;
  return number;
}

bool is_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

bool is_host(std::string_view text) {
  if (text.starts_with('[')) return text.size() > 2 && text.ends_with(']');
  const auto may_be = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '-'; };
  return !text.empty() && std::all_of(text.begin(), text.end(), may_be);
}

/// Whether a text without a scheme is meant as host:port. A folder of such a name is ./host:port.
bool looks_like_address(const Url& url) {
  return url.path.find_first_not_of('/') == std::string_view::npos && url.user.empty() && is_host(url.host) &&
         url.port && is_digits(*url.port);
}

std::string key_of(std::string_view text) {
  const Url url = split(text);
  std::string host(url.host);
  std::transform(host.begin(), host.end(), host.begin(), [](unsigned char c) { return std::tolower(c); });
  if (host == "localhost" || host == "[::1]") host = "127.0.0.1";
  const std::string scheme(url.scheme);
  const std::string port(url.port.value_or(scheme == "https" ? "443" : "80"));
  return scheme + "://" + std::string(url.user) + host + ":" + port + plain_url(url.path);
}

}  // namespace

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
  const bool is_http = url.scheme == "http" || url.scheme == "https";
  if (!is_http && !url.scheme.empty() && url.scheme != "cadre") {
    return fail(Errc::invalid, "'" + shown + "' is not an address of a master" + std::string(examples));
  }
  if (url.host.empty() || text.find_first_of("?#") != std::string_view::npos) {
    return fail(Errc::invalid, "'" + shown + "' is not an address of a master" + std::string(examples));
  }
  if (url.port && !port_of(*url.port)) {
    return fail(Errc::invalid, "'" + shown + "': the port must be a number from 1 to 65535" + std::string(examples));
  }
  if (is_http) return MasterAddress{plain_url(text), ""};
  const std::string port(url.port ? std::string(*url.port) : std::to_string(default_port));
  return MasterAddress{
      plain_url("http://" + std::string(url.user) + std::string(url.host) + ":" + port + std::string(url.path)), ""};
}

bool is_same_master(std::string_view url, std::string_view other) { return key_of(url) == key_of(other); }

}  // namespace cadre::client
