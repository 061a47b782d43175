/// Combines numbers of several ranks, one by one, in the order of the ranks. Pure; safe on any thread.
#pragma once

#include <span>

#include "client/gang/gang.h"

namespace cadre::client {

/// All parts have the size of `out`, which may be one of them. Sums of float16 are kept in 32 bits and rounded once.
/// Sums of integers wrap around; their mean is rounded toward zero. The minimum and maximum of what contains NaN is
/// NaN.
void combine(NumberKind kind, Reduction how, std::span<const BytesView> parts, std::span<std::byte> out);

// float16 as IEEE 754 has it: 1 bit sign, 5 bits exponent, 10 bits fraction. Rounds to nearest, ties to even.
[[nodiscard]] float float_of_half(std::uint16_t half);
[[nodiscard]] std::uint16_t half_of_float(float number);

}  // namespace cadre::client
