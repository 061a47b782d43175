#include "client/gang/combine.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <type_traits>

namespace cadre::client {
namespace {

/// Numbers that are combined at a time: they fit into the fastest cache.
constexpr std::size_t block = 1'024;

struct Half {
  std::uint16_t bits;
};

/// In what numbers are added up.
template <class T>
using Sum =
    std::conditional_t<std::is_same_v<T, Half>, float,
                       std::conditional_t<std::is_floating_point_v<T>, T,
                                          std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>>>;
/// In what they are compared.
template <class T>
using Compared = std::conditional_t<std::is_same_v<T, Half>, float, T>;

template <class Wide, class T>
Wide widened(T number) {
  if constexpr (std::is_same_v<T, Half>) {
    return float_of_half(number.bits);
  } else {
    return static_cast<Wide>(number);
  }
}

template <class T, class Wide>
T narrowed(Wide number) {
  if constexpr (std::is_same_v<T, Half>) {
    return Half{half_of_float(number)};
  } else {
    return static_cast<T>(number);
  }
}

template <class Wide>
Wide added(Wide a, Wide b) {
  if constexpr (std::is_same_v<Wide, std::int64_t>) {
    return static_cast<Wide>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  } else {
    return a + b;
  }
}

template <class T, class Wide, class Step, class Finish>
void combine_blocks(std::span<const BytesView> parts, std::span<std::byte> out, const Step& step,
                    const Finish& finish) {
  std::array<T, block> raw;
  std::array<Wide, block> combined;
  const std::size_t count = out.size() / sizeof(T);
  for (std::size_t begin = 0; begin < count; begin += block) {
    const std::size_t size = std::min(block, count - begin);
    for (std::size_t part = 0; part < parts.size(); ++part) {
      std::memcpy(raw.data(), parts[part].data() + begin * sizeof(T), size * sizeof(T));
      if (part == 0) {
        for (std::size_t i = 0; i < size; ++i) combined[i] = widened<Wide>(raw[i]);
      } else {
        for (std::size_t i = 0; i < size; ++i) combined[i] = step(combined[i], widened<Wide>(raw[i]));
      }
    }
    for (std::size_t i = 0; i < size; ++i) raw[i] = narrowed<T>(finish(combined[i]));
    std::memcpy(out.data() + begin * sizeof(T), raw.data(), size * sizeof(T));
  }
}

template <class T>
void combine_as(Reduction how, std::span<const BytesView> parts, std::span<std::byte> out) {
  using Added = Sum<T>;
  using Wide = Compared<T>;
  const auto same = [](auto number) { return number; };
  switch (how) {
    case Reduction::sum: return combine_blocks<T, Added>(parts, out, added<Added>, same);
    case Reduction::mean: {
      const auto divided = [size = static_cast<Added>(parts.size())](Added sum) { return sum / size; };
      return combine_blocks<T, Added>(parts, out, added<Added>, divided);
    }
    // What is not equal to itself is NaN.
    case Reduction::min:
      return combine_blocks<T, Wide>(
          parts, out, [](Wide a, Wide b) { return b < a || b != b ? b : a; }, same);
    case Reduction::max:
      return combine_blocks<T, Wide>(
          parts, out, [](Wide a, Wide b) { return b > a || b != b ? b : a; }, same);
  }
}

}  // namespace

float float_of_half(std::uint16_t half) {
  const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000) << 16;
  const std::uint32_t exponent = (half >> 10) & 0x1f;
  const std::uint32_t fraction = half & 0x3ff;
  if (exponent == 0) {  // zero, or less than the smallest that is normal
    const float number = static_cast<float>(fraction) * 0x1p-24F;
    return sign != 0 ? -number : number;
  }
  const std::uint32_t wide = exponent == 0x1f ? 0xff : exponent + 112;
  return std::bit_cast<float>(sign | wide << 23 | fraction << 13);
}

std::uint16_t half_of_float(float number) {
  const auto bits = std::bit_cast<std::uint32_t>(number);
  const auto sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000);
  const std::uint32_t size = bits & 0x7fffffff;
  const auto with_sign = [sign](std::uint32_t half) { return static_cast<std::uint16_t>(sign | half); };
  if (size > 0x7f800000) return with_sign(0x7e00 | (size >> 13 & 0x3ff));  // NaN
  if (size >= 0x477ff000) return with_sign(0x7c00);                        // rounds to infinity
  if (size < 0x38800000) {                                                 // less than the smallest that is normal
    const float rounded = std::bit_cast<float>(size) + 0.5F;               // its last bit is worth 2^-24
    return with_sign(std::bit_cast<std::uint32_t>(rounded) - std::bit_cast<std::uint32_t>(0.5F));
  }
  const std::uint32_t odd = size >> 13 & 1;
  return with_sign((size - 0x38000000 + 0xfff + odd) >> 13);
}

void combine(NumberKind kind, Reduction how, std::span<const BytesView> parts, std::span<std::byte> out) {
  switch (kind) {
    case NumberKind::f16: return combine_as<Half>(how, parts, out);
    case NumberKind::f32: return combine_as<float>(how, parts, out);
    case NumberKind::f64: return combine_as<double>(how, parts, out);
    case NumberKind::i8: return combine_as<std::int8_t>(how, parts, out);
    case NumberKind::i16: return combine_as<std::int16_t>(how, parts, out);
    case NumberKind::i32: return combine_as<std::int32_t>(how, parts, out);
    case NumberKind::i64: return combine_as<std::int64_t>(how, parts, out);
    case NumberKind::u8: return combine_as<std::uint8_t>(how, parts, out);
    case NumberKind::u16: return combine_as<std::uint16_t>(how, parts, out);
    case NumberKind::u32: return combine_as<std::uint32_t>(how, parts, out);
    case NumberKind::u64: return combine_as<std::uint64_t>(how, parts, out);
  }
}

}  // namespace cadre::client
