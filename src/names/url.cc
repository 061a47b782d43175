#include "names/url.h"

#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

#include "net/address.h"
#include "net/host_port.h"

namespace cadre::names {

namespace {

constexpr std::string_view forms =
    "memory://NAME, file:///absolute/folder, redis://[[user]:password@]host[:port][/db][?prefix=P], "
    "rediss://…[?ca=FILE], master://[[:token@]host[:port]][/workspace] or masters://…[?ca=FILE]";

Failure bad_url(const std::string& why) {
  return fail(Errc::invalid, "the URL of names is invalid: " + why + "; write it as " + std::string(forms));
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

Result<std::string> decode(std::string_view text) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded += text[i];
      continue;
    }
    const int high = i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
    const int low = i + 2 < text.size() ? hex_digit(text[i + 2]) : -1;
    if (high < 0 || low < 0) return bad_url("a % must be followed by two hexadecimal digits");
    decoded += static_cast<char>(16 * high + low);
    i += 2;
  }
  if (decoded.find('\0') != std::string::npos) return bad_url("it has a zero byte in it");
  return decoded;
}

template <class T>
Result<T> read_number(std::string_view text, const std::string& what) {
  T number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc() || end != text.data() + text.size()) return bad_url(what + " is not such a number");
  return number;
}

/// Cuts off what follows the last `separator`, if it is there.
std::optional<std::string_view> cut_behind(std::string_view& text, char separator) {
  const std::size_t at = text.rfind(separator);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view behind = text.substr(at + 1);
  text = text.substr(0, at);
  return behind;
}

Result<void> read_login(std::string_view text, RedisUrl& url) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return bad_url("a user needs a password: user:password@host");
  TRY_ASSIGN(user, decode(text.substr(0, colon)));
  TRY_ASSIGN(password, decode(text.substr(colon + 1)));
  if (password.empty()) return bad_url("the password is empty");
  url.user = std::move(user);
  url.password = std::move(password);
  return {};
}

Result<net::TcpAddress> read_place(std::string_view text, std::uint16_t usual_port) {
  const Result<net::HostPort> parsed = net::parse_host_port(text);
  if (!parsed) return bad_url(parsed.error().message);
  if (parsed->port == 0) return bad_url("the port is 0");
  return net::TcpAddress{parsed->host, parsed->port.value_or(usual_port)};
}

using Settings = std::vector<std::pair<std::string_view, std::string>>;

/// Cuts them off the end.
Result<Settings> read_settings(std::string_view& url) {
  const std::size_t question = std::min(url.find('?'), url.size());
  std::string_view text = url.substr(std::min(question + 1, url.size()));
  url = url.substr(0, question);
  Settings settings;
  while (!text.empty()) {
    const std::string_view setting = text.substr(0, text.find('&'));
    text.remove_prefix(std::min(setting.size() + 1, text.size()));
    const std::size_t equals = std::min(setting.find('='), setting.size());
    const std::string_view name = setting.substr(0, equals);
    TRY_ASSIGN(value, decode(setting.substr(std::min(equals + 1, setting.size()))));
    if (value.empty() || value.size() > 1'000) return bad_url("each setting needs a value of 1 to 1000 bytes");
    settings.emplace_back(name, std::move(value));
  }
  return settings;
}

/// Cuts off what stands before the host.
std::optional<std::string_view> cut_login(std::string_view& text) {
  const std::size_t at = text.rfind('@');
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view login = text.substr(0, at);
  text.remove_prefix(at + 1);
  return login;
}

Result<Url> parse_redis(std::string_view rest, bool is_tls) {
  RedisUrl url;
  url.is_tls = is_tls;
  TRY_ASSIGN(settings, read_settings(rest));
  for (auto& [name, value] : settings) {
    if (name == "prefix") {
      url.prefix = std::move(value);
    } else if (name == "ca" && is_tls) {
      url.ca_file = std::move(value);
    } else {
      return bad_url(name == "ca" ? "ca= needs TLS: use rediss://" : "its only settings are prefix= and ca=");
    }
  }
  if (const auto login = cut_login(rest)) TRY(read_login(*login, url));
  if (const auto db = cut_behind(rest, '/'); db && !db->empty()) {
    TRY_ASSIGN(number, read_number<std::uint32_t>(*db, "the database"));
    url.db = number;
  }
  TRY_ASSIGN(place, read_place(rest, url.port));
  url.host = std::move(place.host);
  url.port = place.port;
  return url;
}

Result<Url> parse_master(std::string_view rest, bool is_tls) {
  MasterUrl url;
  TRY_ASSIGN(settings, read_settings(rest));
  for (auto& [name, value] : settings) {
    if (name != "ca") return bad_url("its only setting is ca=");
    if (!is_tls) return bad_url("ca= needs TLS: use masters://");
    url.ca_file = std::move(value);
  }
  if (const auto login = cut_login(rest)) {
    if (!login->starts_with(':')) return bad_url("write a token after a colon: :token@host");
    TRY_ASSIGN(token, decode(login->substr(1)));
    if (token.empty()) return bad_url("the token is empty");
    url.token = std::move(token);
  }
  if (const auto workspace = cut_behind(rest, '/')) {
    TRY_ASSIGN(decoded, decode(*workspace));
    url.workspace = std::move(decoded);
  }
  if (rest.empty() && url.token.empty() && url.ca_file.empty()) return url;
  TRY_ASSIGN(place, read_place(rest, 7310));
  url.address = (is_tls ? "https://" : "http://") + net::host_in_address(place.host) + ":" + std::to_string(place.port);
  return url;
}

}  // namespace

Result<Url> parse_url(std::string_view text) {
  const std::size_t colon = text.find("://");
  if (colon == std::string_view::npos) return bad_url("it has no ://");
  const std::string_view scheme = text.substr(0, colon);
  const std::string_view rest = text.substr(colon + 3);
  if (scheme == "redis" || scheme == "rediss") return parse_redis(rest, scheme == "rediss");
  if (scheme == "master" || scheme == "masters") return parse_master(rest, scheme == "masters");
  TRY_ASSIGN(place, decode(rest));
  if (scheme == "memory") {
    if (place.empty()) return bad_url("memory:// needs a name");
    return MemoryUrl{std::move(place)};
  }
  if (scheme == "file") {
    if (place.size() < 2 || !place.starts_with('/')) {
      return bad_url("the folder must be absolute: file:///absolute/folder");
    }
    return FileUrl{std::move(place)};
  }
  return bad_url("its scheme must be memory, file, redis, rediss, master or masters");
}

}  // namespace cadre::names
