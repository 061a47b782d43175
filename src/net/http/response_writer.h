/// Spells the heads of answers. Pure; safe on any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "net/http/message.h"

namespace cadre::net::http {

/// How the peer finds the end of a body.
enum class BodyKind : std::uint8_t { sized, chunked, until_close };
enum class After : std::uint8_t { keep, close };

/// Whether it can be spelled so that the peer reads what is meant: a status, words without control characters, and no
/// header that is the server's own (Content-Length, Transfer-Encoding, Connection, Upgrade).
[[nodiscard]] bool is_sound(const Response& response);

/// Whether an answer of this status may have a body at all.
[[nodiscard]] bool has_body(int status);

/// Appends the head, up to and with its empty line. The response is sound.
void write_head(std::string& to, const Response& response, BodyKind kind, After after);

/// What the server itself has to say: application/problem+json.
[[nodiscard]] Response problem(int status, std::string_view title);

}  // namespace cadre::net::http
