/// The frames of WebSocket (RFC 6455) as a server reads and writes them; knows no socket. A value; one thread at a
/// time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/bytes.h"

namespace cadre::net::http {

enum class Opcode : std::uint8_t { continuation = 0, text = 1, binary = 2, close = 8, ping = 9, pong = 10 };

/// Close codes that we say ourselves.
constexpr std::uint16_t close_normal = 1000;
constexpr std::uint16_t close_going_away = 1001;
constexpr std::uint16_t close_malformed = 1002;
constexpr std::uint16_t close_no_text = 1007;
constexpr std::uint16_t close_too_large = 1009;

/// One whole frame that is not masked, up to its payload.
[[nodiscard]] std::string frame_head(Opcode opcode, std::size_t payload_bytes);
/// The payload of a close frame; a long reason is cut.
[[nodiscard]] std::string close_payload(std::uint16_t code, std::string_view reason);

class FrameReader {
 public:
  enum class Event : std::uint8_t {
    none,     ///< needs more
    message,  ///< payload() is it
    ping,     ///< payload() is to be sent back
    pong,
    close,    ///< close_code() is the peer's, or 1005 when it gave none
    refused,  ///< for good; close_code() is to be said
  };
  struct Taken {
    std::size_t bytes = 0;
    Event event = Event::none;
  };

  explicit FrameReader(ByteSize message_max) : message_max_(static_cast<std::uint64_t>(message_max.value)) {}

  /// Takes bytes up to the next event. What it leaves has to come again, with more behind if the event was none.
  [[nodiscard]] Taken take(std::string_view bytes);

  /// Of the event that take() gave; may be moved from.
  std::string& payload() { return is_control(opcode_) ? control_ : message_; }
  std::uint16_t close_code() const { return close_code_; }

 private:
  static bool is_control(Opcode opcode) { return opcode >= Opcode::close; }
  std::size_t take_head(std::string_view bytes);
  std::size_t take_payload(std::string_view bytes);
  bool begin_frame(std::uint8_t first);
  Event end_frame();
  Event end_close();
  void refuse(std::uint16_t code);

  const std::uint64_t message_max_;
  bool in_payload_ = false;
  bool refused_ = false;
  bool in_message_ = false;  // fragments of it are to come
  bool is_text_ = false;
  bool is_last_ = false;  // of its message
  Opcode opcode_ = Opcode::continuation;
  char mask_[4] = {};
  std::uint64_t payload_left_ = 0;
  std::size_t masked_ = 0;  // bytes of the payload so far
  std::uint16_t close_code_ = 0;
  std::string message_;
  std::string control_;
};

/// Whether these bytes are UTF-8.
[[nodiscard]] bool is_utf8(std::string_view text);

}  // namespace cadre::net::http
