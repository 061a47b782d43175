#include "net/http/handshake.h"

#include <openssl/sha.h>

#include <array>
#include <string>

#include "base/bytes.h"
#include "net/http/response_writer.h"

namespace cadre::net::http {

namespace {

constexpr std::size_t key_bytes = 16;

/// What shows that the key was understood as one of a WebSocket (RFC 6455, 1.3).
std::string accept_of(std::string_view key) {
  const std::string text = std::string(key) + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
  std::array<unsigned char, SHA_DIGEST_LENGTH> digest;
  SHA1(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
  return to_base64(std::as_bytes(std::span(digest)));
}

}  // namespace

std::variant<Headers, Response> agree_on_websocket(const Request& request) {
  if (!request.is_websocket) return problem(400, "this is not a request for a WebSocket");
  if (find(request.headers, "Sec-WebSocket-Version") != "13") {
    Response response = problem(426, "expected version 13 of WebSocket");
    response.headers = {{"Sec-WebSocket-Version", "13"}};
    return response;
  }
  const std::string_view key = find(request.headers, "Sec-WebSocket-Key");
  const Result<Bytes> decoded = from_base64(key);
  if (!decoded || decoded->size() != key_bytes) return problem(400, "the key of the WebSocket is malformed");
  return Headers{{"Upgrade", "websocket"}, {"Connection", "Upgrade"}, {"Sec-WebSocket-Accept", accept_of(key)}};
}

}  // namespace cadre::net::http
