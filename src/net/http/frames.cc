#include "net/http/frames.h"

#include <algorithm>

namespace cadre::net::http {

namespace {

constexpr std::size_t control_max = 125;
constexpr std::uint16_t close_without_code = 1005;
constexpr unsigned final_bit = 0x80;
constexpr unsigned reserved_bits = 0x70;
constexpr unsigned mask_bit = 0x80;
constexpr unsigned size_of_2 = 126;
constexpr unsigned size_of_8 = 127;

std::uint64_t number(std::string_view bytes) {
  std::uint64_t value = 0;
  for (const char c : bytes) value = value << 8 | static_cast<unsigned char>(c);
  return value;
}

void append_number(std::string& to, std::uint64_t value, int bytes) {
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) to += static_cast<char>(value >> shift);
}

/// Those that a peer may say: others are for use inside a program, or nobody has given them a meaning.
bool may_be_said(std::uint64_t code) {
  return (code >= 1000 && code <= 1014 && code != 1004 && code != 1005 && code != 1006) ||
         (code >= 3000 && code < 5000);
}

}  // namespace

std::string frame_head(Opcode opcode, std::size_t payload_bytes) {
  std::string head(1, static_cast<char>(final_bit | static_cast<unsigned>(opcode)));
  if (payload_bytes < size_of_2) {
    head += static_cast<char>(payload_bytes);
  } else if (payload_bytes <= 0xffff) {
    head += static_cast<char>(size_of_2);
    append_number(head, payload_bytes, 2);
  } else {
    head += static_cast<char>(size_of_8);
    append_number(head, payload_bytes, 8);
  }
  return head;
}

std::string close_payload(std::uint16_t code, std::string_view reason) {
  std::string payload;
  append_number(payload, code, 2);
  std::size_t size = std::min(reason.size(), control_max - payload.size());
  while (size > 0 && size < reason.size() && (static_cast<unsigned char>(reason[size]) & 0xc0) == 0x80) --size;
  payload += reason.substr(0, size);
  return payload;
}

void FrameReader::refuse(std::uint16_t code) {
  refused_ = true;
  close_code_ = code;
}

FrameReader::Taken FrameReader::take(std::string_view bytes) {
  Taken taken;
  while (!refused_) {
    if (!in_payload_) {
      const std::size_t head = take_head(bytes.substr(taken.bytes));
      taken.bytes += head;
      if (!in_payload_ && !refused_) return taken;
      if (refused_) break;
    }
    taken.bytes += take_payload(bytes.substr(taken.bytes));
    if (payload_left_ > 0) return taken;
    taken.event = end_frame();
    if (taken.event != Event::none) return taken;
  }
  taken.event = Event::refused;
  return taken;
}

/// Takes all of a head or nothing.
std::size_t FrameReader::take_head(std::string_view bytes) {
  if (bytes.size() < 2) return 0;
  const auto first = static_cast<std::uint8_t>(bytes[0]);
  const auto second = static_cast<std::uint8_t>(bytes[1]);
  if ((first & reserved_bits) != 0 || (second & mask_bit) == 0) return refuse(close_malformed), 0;
  const unsigned short_size = second & ~mask_bit;
  const std::size_t size_bytes = short_size == size_of_8 ? 8 : short_size == size_of_2 ? 2 : 0;
  const std::size_t head_bytes = 2 + size_bytes + sizeof mask_;
  if (bytes.size() < head_bytes) return 0;
  payload_left_ = size_bytes == 0 ? short_size : number(bytes.substr(2, size_bytes));
  std::ranges::copy(bytes.substr(2 + size_bytes, sizeof mask_), mask_);
  masked_ = 0;
  if (begin_frame(first)) in_payload_ = true;
  return head_bytes;
}

bool FrameReader::begin_frame(std::uint8_t first) {
  is_last_ = (first & final_bit) != 0;
  opcode_ = static_cast<Opcode>(first & 0x0f);
  switch (opcode_) {
    case Opcode::close:
    case Opcode::ping:
    case Opcode::pong:
      control_.clear();
      if (is_last_ && payload_left_ <= control_max) return true;
      return refuse(close_malformed), false;
    case Opcode::text:
    case Opcode::binary:
      if (in_message_) return refuse(close_malformed), false;
      is_text_ = opcode_ == Opcode::text;
      in_message_ = true;
      message_.clear();
      break;
    case Opcode::continuation:
      if (!in_message_) return refuse(close_malformed), false;
      break;
    default: return refuse(close_malformed), false;
  }
  if (payload_left_ > message_max_ - message_.size()) return refuse(close_too_large), false;
  return true;
}

std::size_t FrameReader::take_payload(std::string_view bytes) {
  std::string& to = payload();
  const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(payload_left_, bytes.size()));
  const std::size_t before = to.size();
  to.append(bytes.substr(0, size));
  char turned[4];
  for (std::size_t i = 0; i < 4; ++i) turned[i] = mask_[(masked_ + i) % 4];
  for (std::size_t i = 0; i < size; ++i) to[before + i] = static_cast<char>(to[before + i] ^ turned[i % 4]);
  masked_ += size;
  payload_left_ -= size;
  return size;
}

FrameReader::Event FrameReader::end_frame() {
  in_payload_ = false;
  switch (opcode_) {
    case Opcode::ping: return Event::ping;
    case Opcode::pong: return Event::pong;
    case Opcode::close: return end_close();
    default: break;
  }
  if (!is_last_) return Event::none;
  in_message_ = false;
  if (is_text_ && !is_utf8(message_)) return refuse(close_no_text), Event::refused;
  return Event::message;
}

FrameReader::Event FrameReader::end_close() {
  close_code_ = close_without_code;
  if (control_.empty()) return Event::close;
  const std::uint64_t code = number(std::string_view(control_).substr(0, 2));
  if (control_.size() < 2 || !may_be_said(code)) return refuse(close_malformed), Event::refused;
  control_.erase(0, 2);
  if (!is_utf8(control_)) return refuse(close_no_text), Event::refused;
  close_code_ = static_cast<std::uint16_t>(code);
  return Event::close;
}

bool is_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto first = static_cast<unsigned char>(text[i++]);
    if (first < 0x80) continue;
    const int more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : 1;
    if (first < 0xc2 || first > 0xf4 || text.size() - i < static_cast<std::size_t>(more)) return false;
    std::uint32_t point = first & (0x3f >> more);
    for (int k = 0; k < more; ++k) {
      const auto next = static_cast<unsigned char>(text[i++]);
      if ((next & 0xc0) != 0x80) return false;
      point = point << 6 | (next & 0x3f);
    }
    const std::uint32_t smallest[] = {0x80, 0x800, 0x10000};
    if (point < smallest[more - 1] || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff)) return false;
  }
  return true;
}

}  // namespace cadre::net::http
