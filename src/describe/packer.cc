#include "describe/packer.h"

#include <bit>
#include <concepts>
#include <limits>

#include "base/check.h"

namespace cadre::describe {

struct Packer::SizeTags {
  unsigned fix;  ///< or-ed with a size below fix_end
  std::size_t fix_end;
  unsigned of_8;  ///< 0 where there is none
  unsigned of_16;
  unsigned of_32;
};

template <class T>
void Packer::integer(T value) {
  static_assert(std::unsigned_integral<T>);
  for (int shift = std::numeric_limits<T>::digits - 8; shift >= 0; shift -= 8) tag(value >> shift & 0xff);
}

void Packer::size(std::size_t count, const SizeTags& tags) {
  if (count < tags.fix_end) return tag(tags.fix | static_cast<unsigned>(count));
  if (tags.of_8 != 0 && count <= 0xff) return tag(tags.of_8), integer(static_cast<std::uint8_t>(count));
  if (count <= 0xffff) return tag(tags.of_16), integer(static_cast<std::uint16_t>(count));
  CHECK(count <= 0xffffffff);
  tag(tags.of_32), integer(static_cast<std::uint32_t>(count));
}

void Packer::number(std::uint64_t value) {
  if (value <= 0x7f) return tag(static_cast<unsigned>(value));
  if (value <= 0xff) return tag(0xcc), integer(static_cast<std::uint8_t>(value));
  if (value <= 0xffff) return tag(0xcd), integer(static_cast<std::uint16_t>(value));
  if (value <= 0xffffffff) return tag(0xce), integer(static_cast<std::uint32_t>(value));
  tag(0xcf), integer(value);
}

void Packer::number(std::int64_t value) {
  if (value >= 0) return number(static_cast<std::uint64_t>(value));
  const auto bits = static_cast<std::uint64_t>(value);
  if (value >= -32) return tag(static_cast<unsigned>(bits & 0xff));
  if (value >= INT8_MIN) return tag(0xd0), integer(static_cast<std::uint8_t>(bits));
  if (value >= INT16_MIN) return tag(0xd1), integer(static_cast<std::uint16_t>(bits));
  if (value >= INT32_MIN) return tag(0xd2), integer(static_cast<std::uint32_t>(bits));
  tag(0xd3), integer(bits);
}

void Packer::number(double value) {
  tag(0xcb);
  integer(std::bit_cast<std::uint64_t>(value));
}

void Packer::text(std::string_view value) {
  size(value.size(), {0xa0, 32, 0xd9, 0xda, 0xdb});
  const BytesView view = as_bytes(value);
  out_.insert(out_.end(), view.begin(), view.end());
}

void Packer::bytes(BytesView value) {
  size(value.size(), {0, 0, 0xc4, 0xc5, 0xc6});
  out_.insert(out_.end(), value.begin(), value.end());
}

std::size_t Packer::open_extension(std::int8_t type) {
  tag(0xc9);
  const std::size_t place = out_.size();
  integer(std::uint32_t{0});  // its size, once that is known
  tag(static_cast<std::uint8_t>(type));
  return place;
}

void Packer::close_extension(std::size_t place) {
  const std::size_t size = out_.size() - place - 5;
  CHECK(size <= 0xffffffff);
  for (std::size_t i = 0; i < 4; ++i) out_[place + i] = static_cast<std::byte>(size >> (24 - 8 * i) & 0xff);
}

void Packer::list(std::size_t count) { size(count, {0x90, 16, 0, 0xdc, 0xdd}); }

void Packer::map(std::size_t count) { size(count, {0x80, 16, 0, 0xde, 0xdf}); }

}  // namespace cadre::describe
