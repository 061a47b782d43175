/// Raw bytes and sizes of bytes, with their spelling (16GiB). Values; safe on any thread.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace cadre {

using Bytes = std::vector<std::byte>;
using BytesView = std::span<const std::byte>;

inline BytesView as_bytes(std::string_view text) { return std::as_bytes(std::span(text.data(), text.size())); }
inline std::string_view as_text(BytesView bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

/// A number of bytes. Never negative.
struct ByteSize {
  std::int64_t value{};
  auto operator<=>(const ByteSize&) const = default;
  ByteSize operator+(ByteSize other) const { return {value + other.value}; }
  ByteSize operator-(ByteSize other) const { return {value - other.value}; }
  ByteSize& operator+=(ByteSize other) { return value += other.value, *this; }
  ByteSize& operator-=(ByteSize other) { return value -= other.value, *this; }
};

/// Reads `512`, `16GiB`, `1.5 GB`; units B, KB…PB (powers of 1000) and KiB…PiB (powers of 1024).
[[nodiscard]] Result<ByteSize> parse_byte_size(std::string_view text);

/// The shortest exact spelling, for instance 16GiB; parse_byte_size reads it back to the same value.
std::string to_string(ByteSize size);

[[nodiscard]] std::string to_base64(BytesView bytes);
[[nodiscard]] Result<Bytes> from_base64(std::string_view text);

}  // namespace cadre
