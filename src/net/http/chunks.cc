#include "net/http/chunks.h"

#include <algorithm>

#include "net/http/message.h"

namespace cadre::net::http {

namespace {

constexpr int digits_max = 15;                // so that the size of a chunk cannot overflow
constexpr std::size_t skipped_max = 8 << 10;  // of extensions and trailers, which nobody here wants

}  // namespace

std::size_t ChunkReader::take(std::string_view bytes, std::string& body) {
  std::size_t taken = 0;
  while (taken < bytes.size() && state_ == State::more) {
    if (place_ != Place::data) {
      take_byte(bytes[taken++]);
      continue;
    }
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(chunk_left_, bytes.size() - taken));
    body.append(bytes.substr(taken, size));
    taken += size;
    chunk_left_ -= size;
    if (chunk_left_ == 0) place_ = Place::data_cr;
  }
  return taken;
}

void ChunkReader::take_byte(char c) {
  switch (place_) {
    case Place::size: return take_of_size(c);
    case Place::extension: return skip(c, Place::size_lf);
    case Place::size_lf: return c == '\n' ? begin_chunk() : expect(c, '\n', Place::size);
    case Place::data: return;
    case Place::data_cr: return expect(c, '\r', Place::data_lf);
    case Place::data_lf: return expect(c, '\n', Place::size);
    case Place::line_start: return c == '\r' ? expect(c, '\r', Place::last_lf) : skip(c, Place::line_lf);
    case Place::line: return skip(c, Place::line_lf);
    case Place::line_lf: return expect(c, '\n', Place::line_start);
    case Place::last_lf:
      expect(c, '\n', Place::last_lf);
      if (state_ == State::more) state_ = State::whole;
  }
}

void ChunkReader::take_of_size(char c) {
  const int digit = hex_digit(c);
  if (digit >= 0 && digits_ < digits_max) {
    ++digits_;
    chunk_left_ = chunk_left_ * 16 + static_cast<std::uint64_t>(digit);
  } else if (digits_ == 0 || digit >= 0) {
    state_ = digit >= 0 ? State::too_large : State::malformed;
  } else if (c == '\r') {
    place_ = Place::size_lf;
  } else if (c == ';' || c == ' ' || c == '\t') {
    place_ = Place::extension;
  } else {
    state_ = State::malformed;
  }
}

void ChunkReader::skip(char c, Place after_cr) {
  if (c == '\n' || c == '\0' || ++skipped_ > skipped_max) {
    state_ = State::malformed;
  } else if (c == '\r') {
    place_ = after_cr;
  } else if (place_ == Place::line_start) {
    place_ = Place::line;
  }
}

void ChunkReader::expect(char c, char expected, Place next) {
  if (c == expected) {
    place_ = next;
  } else {
    state_ = State::malformed;
  }
}

void ChunkReader::begin_chunk() {
  digits_ = 0;
  if (chunk_left_ > body_left_) {
    state_ = State::too_large;
    return;
  }
  body_left_ -= chunk_left_;
  place_ = chunk_left_ > 0 ? Place::data : Place::line_start;
}

}  // namespace cadre::net::http
