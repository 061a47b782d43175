/// The headers in a packed file (objects/pack.h). Values; safe on any thread.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/bytes.h"

namespace cadre::objects {

static_assert(std::endian::native == std::endian::little, "packed files are little endian");

constexpr std::string_view pack_magic = "cadre pack 1\n";
constexpr std::size_t pack_header_bytes = 10;
constexpr std::size_t pack_depth_max = 128;
constexpr std::int64_t link_bytes_max = 4095;

enum class EntryKind : std::uint8_t { file = 1, program = 2, link = 3, folder = 4, end = 5 };

struct PackHeader {
  EntryKind kind = EntryKind::end;
  std::uint8_t name_bytes = 0;
  std::int64_t size = 0;
};

inline std::array<std::byte, pack_header_bytes> encode(const PackHeader& header) {
  std::array<std::byte, pack_header_bytes> bytes{};
  bytes[0] = static_cast<std::byte>(header.kind);
  bytes[1] = static_cast<std::byte>(header.name_bytes);
  std::memcpy(&bytes[2], &header.size, sizeof(header.size));
  return bytes;
}

inline PackHeader decode_header(BytesView bytes) {
  PackHeader header;
  header.kind = static_cast<EntryKind>(bytes[0]);
  header.name_bytes = static_cast<std::uint8_t>(bytes[1]);
  std::memcpy(&header.size, &bytes[2], sizeof(header.size));
  return header;
}

}  // namespace cadre::objects
