/// A regular expression that is matched in time proportional to the length of the text, so that expressions and texts
/// may come from anybody. Values; safe on any thread.
///
/// It has the usual notation without references to groups and without lookaround: `. [a-z] [^x] [[:digit:]] ( ) (?: )
/// | * + ? {2} {2,} {2,5} ^ $ \b \B \d \w \s \D \W \S \t \n \r \xHH`, and `(?i)` at its front to ignore case.
#pragma once

#include <bitset>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace cadre {

class Pattern {
 public:
  /// The error says what is wrong, and where.
  [[nodiscard]] static Result<Pattern> parse(std::string_view text);

  /// Whether a part of the line matches. Bytes are compared, so that the line may be in any encoding.
  [[nodiscard]] bool is_in(std::string_view line) const;

  using Bytes = std::bitset<256>;
  enum class Assertion : std::uint8_t { begin, end, word_border, no_word_border };
  /// A step of a match. Where it has two ways to go on, both are followed at once.
  struct Step {
    enum class Kind : std::uint8_t { bytes, fork, assertion, match } kind = Kind::match;
    Assertion assertion = Assertion::begin;
    std::uint32_t bytes = 0;  ///< index of the bytes that it takes
    std::uint32_t next = 0;
    std::uint32_t other = 0;  ///< of a fork
  };

 private:
  friend class PatternWriter;
  class Run;

  std::vector<Step> steps_;
  std::vector<Bytes> bytes_;
  std::uint32_t start_ = 0;
  Bytes first_;                ///< with which a match can begin
  bool may_be_empty_ = false;  ///< a match may begin anywhere
};

}  // namespace cadre
