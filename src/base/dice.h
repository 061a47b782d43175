/// Random numbers that are the same for one seed on every machine: integers only, no distribution of the standard
/// library. A value; one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "base/check.h"

namespace cadre {

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed) {}

  /// 64 random bits (SplitMix64).
  std::uint64_t bits() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
  }

  /// A number from first to last, both included, each equally likely.
  std::int64_t between(std::int64_t first, std::int64_t last) {
    CHECK(first <= last);
    const auto span = static_cast<std::uint64_t>(last) - static_cast<std::uint64_t>(first) + 1;
    if (span == 0) return static_cast<std::int64_t>(bits());
    std::uint64_t drawn = bits();
    while (drawn - drawn % span > 0 - span) drawn = bits();  // leave out the last, incomplete span
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(first) + drawn % span);
  }

  std::size_t below(std::size_t end) {
    return static_cast<std::size_t>(between(0, static_cast<std::int64_t>(end) - 1));
  }

  bool percent(int chance) { return between(0, 99) < chance; }

  /// A number from first to last (first ≥ 1) whose order of magnitude is uniform: a doubling is drawn, then a number
  /// inside it. Long tails, as run times have them, without floating point.
  std::int64_t magnitude(std::int64_t first, std::int64_t last) {
    CHECK(first >= 1 && first <= last);
    int doublings = 0;
    while (first <= last >> (doublings + 1)) ++doublings;
    const std::int64_t from = first << between(0, doublings);
    return between(from, from > last / 2 ? last : 2 * from - 1);
  }

  template <class T>
  const T& pick(std::span<const T> choices) {
    return choices[below(choices.size())];
  }

  template <class Sequence>
  void shuffle(Sequence& sequence) {
    for (std::size_t i = sequence.size(); i > 1; --i) std::swap(sequence[i - 1], sequence[below(i)]);
  }

  /// A generator of its own, so that what one part draws does not shift what another part gets.
  Dice split() { return Dice(bits()); }

 private:
  std::uint64_t state_;
};

}  // namespace cadre
