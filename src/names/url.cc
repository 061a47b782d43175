#include "names/url.h"

#include <utility>

#include "net/host_port.h"
#include "net/url_parts.h"

namespace cadre::names {

namespace {

constexpr std::string_view forms =
    "memory://NAME, file:///absolute/folder, redis://[[user]:password@]host[:port][/db][?prefix=P], "
    "rediss://…[?ca=FILE], master://[[:token@]host[:port]][/workspace] or masters://…[?ca=FILE]";
constexpr std::string_view usual_prefix = "cadre:names:";

Result<Url> parse_redis(std::string_view text) {
  TRY_ASSIGN(url, net::redis::parse_redis_url(text));
  if (url.prefix.empty()) url.prefix = usual_prefix;
  return url;
}

Result<Url> parse_master(std::string_view rest, bool is_tls) {
  MasterUrl url;
  TRY_ASSIGN(settings, net::cut_settings(rest));
  for (auto& [name, value] : settings) {
    if (name != "ca") return fail(Errc::invalid, "its only setting is ca=");
    if (!is_tls) return fail(Errc::invalid, "ca= needs TLS: use masters://");
    url.ca_file = std::move(value);
  }
  if (const auto login = net::cut_login(rest)) {
    if (!login->starts_with(':')) return fail(Errc::invalid, "write a token after a colon: :token@host");
    TRY_ASSIGN(token, net::decode_url(login->substr(1)));
    if (token.empty()) return fail(Errc::invalid, "the token is empty");
    url.token = std::move(token);
  }
  if (const auto workspace = net::cut_behind(rest, '/')) {
    TRY_ASSIGN(decoded, net::decode_url(*workspace));
    url.workspace = std::move(decoded);
  }
  if (rest.empty() && url.token.empty() && url.ca_file.empty()) return url;
  TRY_ASSIGN(place, net::parse_place(rest, 7310));
  url.address = (is_tls ? "https://" : "http://") + net::host_in_address(place.host) + ":" + std::to_string(place.port);
  return url;
}

Result<Url> parse(std::string_view text) {
  const std::size_t colon = text.find("://");
  if (colon == std::string_view::npos) return fail(Errc::invalid, "it has no ://");
  const std::string_view scheme = text.substr(0, colon);
  const std::string_view rest = text.substr(colon + 3);
  if (scheme == "redis" || scheme == "rediss") return parse_redis(text);
  if (scheme == "master" || scheme == "masters") return parse_master(rest, scheme == "masters");
  TRY_ASSIGN(place, net::decode_url(rest));
  if (scheme == "memory") {
    if (place.empty()) return fail(Errc::invalid, "memory:// needs a name");
    return MemoryUrl{std::move(place)};
  }
  if (scheme == "file") {
    if (place.size() < 2 || !place.starts_with('/')) {
      return fail(Errc::invalid, "the folder must be absolute: file:///absolute/folder");
    }
    return FileUrl{std::move(place)};
  }
  return fail(Errc::invalid, "its scheme must be memory, file, redis, rediss, master or masters");
}

}  // namespace

Result<Url> parse_url(std::string_view text) {
  Result<Url> url = parse(text);
  if (!url) {
    return fail(Errc::invalid,
                "the URL of names is invalid: " + url.error().message + "; write it as " + std::string(forms));
  }
  return url;
}

}  // namespace cadre::names
