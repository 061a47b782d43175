#include "search/generator.h"

#include <bit>

#include "base/check.h"

namespace cadre::search {

Generator::Generator(std::uint32_t seed) {
  words_[0] = seed;
  for (std::uint32_t i = 1; i < size; ++i) {
    const std::uint32_t before = words_[i - 1];
    words_[i] = 1812433253U * (before ^ before >> 30) + i;
  }
}

void Generator::refill() {
  constexpr std::size_t distance = 397;
  for (std::size_t i = 0; i < size; ++i) {
    const std::uint32_t joined = (words_[i] & 0x80000000U) | (words_[(i + 1) % size] & 0x7fffffffU);
    words_[i] = words_[(i + distance) % size] ^ joined >> 1 ^ (joined % 2 != 0 ? 0x9908b0dfU : 0U);
  }
  next_ = 0;
}

std::uint32_t Generator::bits() {
  if (next_ == size) refill();
  std::uint32_t word = words_[next_++];
  word ^= word >> 11;
  word ^= word << 7 & 0x9d2c5680U;
  word ^= word << 15 & 0xefc60000U;
  return word ^ word >> 18;
}

std::uint64_t Generator::below(std::uint64_t end) {
  CHECK(end >= 1);
  const std::uint64_t last = end - 1;
  if (last == 0) return 0;
  const std::uint64_t mask = ~std::uint64_t{0} >> std::countl_zero(last);
  for (;;) {
    std::uint64_t drawn = bits();
    if (last > 0xffffffffU) drawn = drawn << 32 | bits();
    drawn &= mask;
    if (drawn <= last) return drawn;
  }
}

double Generator::unit() {
  const std::uint32_t high = bits() >> 5;
  const std::uint32_t low = bits() >> 6;
  return (high * 67108864.0 + low) / 9007199254740992.0;
}

}  // namespace cadre::search

namespace cadre::describe {

Result<search::Generator> Scalar<search::Generator>::read(const Value& value) {
  TRY_ASSIGN(bytes, Scalar<Bytes>::read(value));
  search::Generator generator;
  constexpr std::size_t words = search::Generator::size + 1;
  if (bytes.size() != words * 4) return mismatch("2500 bytes", value);
  std::size_t at = 0;
  const auto next = [&] {
    std::uint32_t word = 0;
    for (int shift = 0; shift < 32; shift += 8) word |= std::to_integer<std::uint32_t>(bytes[at++]) << shift;
    return word;
  };
  for (std::uint32_t& word : generator.words_) word = next();
  generator.next_ = next();
  if (generator.next_ > search::Generator::size) return mismatch("a position of 624 at most", value);
  return generator;
}

Value Scalar<search::Generator>::write(const search::Generator& generator) {
  Bytes bytes;
  bytes.reserve((search::Generator::size + 1) * 4);
  const auto add = [&](std::uint32_t word) {
    for (int shift = 0; shift < 32; shift += 8) bytes.push_back(static_cast<std::byte>(word >> shift & 0xff));
  };
  for (const std::uint32_t word : generator.words_) add(word);
  add(generator.next_);
  return Value(std::move(bytes));
}

}  // namespace cadre::describe
