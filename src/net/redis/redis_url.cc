#include "net/redis/redis_url.h"

#include <charconv>
#include <utility>

#include "net/url_parts.h"

namespace cadre::net::redis {

namespace {

Result<void> read_login(std::string_view text, RedisUrl& url) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return fail(Errc::invalid, "a user needs a password: user:password@host");
  TRY_ASSIGN(user, decode_url(text.substr(0, colon)));
  TRY_ASSIGN(password, decode_url(text.substr(colon + 1)));
  if (password.empty()) return fail(Errc::invalid, "the password is empty");
  url.user = std::move(user);
  url.password = std::move(password);
  return {};
}

Result<std::uint32_t> read_db(std::string_view text) {
  std::uint32_t number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc() || end != text.data() + text.size()) {
    return fail(Errc::invalid, "the database is not such a number");
  }
  return number;
}

}  // namespace

Result<RedisUrl> parse_redis_url(std::string_view text) {
  RedisUrl url;
  url.is_tls = text.starts_with("rediss://");
  if (!url.is_tls && !text.starts_with("redis://")) {
    return fail(Errc::invalid, "it must begin with redis:// or rediss://");
  }
  std::string_view rest = text.substr(text.find("://") + 3);
  TRY_ASSIGN(settings, cut_settings(rest));
  for (auto& [name, value] : settings) {
    if (name == "prefix") {
      url.prefix = std::move(value);
    } else if (name == "ca" && url.is_tls) {
      url.ca_file = std::move(value);
    } else {
      return fail(Errc::invalid,
                  name == "ca" ? "ca= needs TLS: use rediss://" : "its only settings are prefix= and ca=");
    }
  }
  if (const auto login = cut_login(rest)) TRY(read_login(*login, url));
  if (const auto db = cut_behind(rest, '/'); db && !db->empty()) {
    TRY_ASSIGN(number, read_db(*db));
    url.db = number;
  }
  TRY_ASSIGN(place, parse_place(rest, url.port));
  url.host = std::move(place.host);
  url.port = place.port;
  return url;
}

}  // namespace cadre::net::redis
