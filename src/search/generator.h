/// The random numbers of one search: the same for one seed on every machine and in every language that has MT19937. The
/// whole state can be written and read back. A value; one thread at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "describe/scalar.h"

namespace cadre::search {

class Generator {
 public:
  Generator() : Generator(0) {}
  explicit Generator(std::uint32_t seed);

  /// 32 random bits.
  std::uint32_t bits();
  /// A whole number from 0 to end − 1, each equally likely. Draws nothing if there is one possibility only.
  std::uint64_t below(std::uint64_t end);
  /// A number from 0 to 1, without 1, with 53 random bits.
  double unit();

  bool operator==(const Generator&) const = default;

 private:
  friend struct describe::Scalar<Generator>;
  static constexpr std::size_t size = 624;
  void refill();

  std::array<std::uint32_t, size> words_{};
  std::uint32_t next_ = size;
};

}  // namespace cadre::search

template <>
struct cadre::describe::Scalar<cadre::search::Generator> {
  static std::string type_name() { return "state of a generator of random numbers"; }
  static Value schema() { return Scalar<Bytes>::schema(); }
  static Result<search::Generator> read(const Value& value);
  static Value write(const search::Generator& generator);
};
