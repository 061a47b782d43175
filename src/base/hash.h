/// FNV-1a, 64 bits: a hash whose values are part of what we promise (placement ties). Safe on any thread.
#pragma once

#include <cstdint>
#include <string_view>

namespace cadre {

constexpr std::uint64_t fnv1a_basis = 0xcbf29ce484222325;

/// Continues from `state`, so that fnv1a("b", fnv1a("a")) is fnv1a("ab").
constexpr std::uint64_t fnv1a(std::string_view text, std::uint64_t state = fnv1a_basis) {
  for (const char c : text) {
    state ^= static_cast<unsigned char>(c);
    state *= 0x100000001b3;
  }
  return state;
}

}  // namespace cadre
