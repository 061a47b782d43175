/// The parts that URLs of backends have in common: logins, places, settings. The message of an error is a clause about
/// the URL ("the port is 0") and never repeats the URL, which may hold a password: the caller says which URL, and how
/// to write it. Safe on any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "net/address.h"

namespace cadre::net {

/// %41 and the like as what they stand for; no zero byte.
[[nodiscard]] Result<std::string> decode_url(std::string_view text);

/// Cuts off what follows the last `separator`, if it is there.
std::optional<std::string_view> cut_behind(std::string_view& text, char separator);

/// Cuts off what stands before the host, if there is an @.
std::optional<std::string_view> cut_login(std::string_view& text);

/// `host` or `host:port`.
[[nodiscard]] Result<TcpAddress> parse_place(std::string_view text, std::uint16_t usual_port);

using UrlSettings = std::vector<std::pair<std::string_view, std::string>>;
/// Cuts `?name=value&…` off the end.
[[nodiscard]] Result<UrlSettings> cut_settings(std::string_view& url);

}  // namespace cadre::net
