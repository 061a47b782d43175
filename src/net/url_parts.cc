#include "net/url_parts.h"

#include <algorithm>

#include "net/host_port.h"
#include "net/http/message.h"

namespace cadre::net {

Result<std::string> decode_url(std::string_view text) {
  Result<std::string> decoded = http::unescape(text);
  if (!decoded) return fail(Errc::invalid, "a % must be followed by two hexadecimal digits");
  if (decoded->find('\0') != std::string::npos) return fail(Errc::invalid, "it has a zero byte in it");
  return decoded;
}

std::optional<std::string_view> cut_behind(std::string_view& text, char separator) {
  const std::size_t at = text.rfind(separator);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view behind = text.substr(at + 1);
  text = text.substr(0, at);
  return behind;
}

std::optional<std::string_view> cut_login(std::string_view& text) {
  const std::size_t at = text.rfind('@');
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view login = text.substr(0, at);
  text.remove_prefix(at + 1);
  return login;
}

Result<TcpAddress> parse_place(std::string_view text, std::uint16_t usual_port) {
  TRY_ASSIGN(parsed, parse_host_port(text));
  if (parsed.port == 0) return fail(Errc::invalid, "the port is 0");
  return TcpAddress{std::move(parsed.host), parsed.port.value_or(usual_port)};
}

Result<UrlSettings> cut_settings(std::string_view& url) {
  const std::size_t question = std::min(url.find('?'), url.size());
  std::string_view text = url.substr(std::min(question + 1, url.size()));
  url = url.substr(0, question);
  UrlSettings settings;
  while (!text.empty()) {
    const std::string_view setting = text.substr(0, text.find('&'));
    text.remove_prefix(std::min(setting.size() + 1, text.size()));
    const std::size_t equals = std::min(setting.find('='), setting.size());
    const std::string_view name = setting.substr(0, equals);
    TRY_ASSIGN(value, decode_url(setting.substr(std::min(equals + 1, setting.size()))));
    if (value.empty() || value.size() > 1'000) {
      return fail(Errc::invalid, "each setting needs a value of 1 to 1000 bytes");
    }
    settings.emplace_back(name, std::move(value));
  }
  return settings;
}

}  // namespace cadre::net
