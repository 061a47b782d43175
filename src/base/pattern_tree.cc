#include "base/pattern_tree.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace cadre {
namespace {

using Bytes = Pattern::Bytes;

constexpr std::uint32_t repetitions_most = 1'000;
constexpr int depth_most = 100;

Bytes range_of(unsigned char first, unsigned char last) {
  Bytes bytes;
  for (unsigned byte = first; byte <= last; ++byte) bytes.set(byte);
  return bytes;
}

Bytes bytes_in(std::string_view text) {
  Bytes bytes;
  for (const char c : text) bytes.set(static_cast<unsigned char>(c));
  return bytes;
}

Bytes both_cases(Bytes bytes) {
  for (unsigned upper = 'A'; upper <= 'Z'; ++upper) {
    const unsigned lower = upper + ('a' - 'A');
    if (bytes[upper] || bytes[lower]) bytes.set(upper).set(lower);
  }
  return bytes;
}

const Bytes& digits() {
  static const Bytes bytes = range_of('0', '9');
  return bytes;
}
const Bytes& letters() {
  static const Bytes bytes = range_of('a', 'z') | range_of('A', 'Z');
  return bytes;
}
const Bytes& spaces() {
  static const Bytes bytes = bytes_in(" \t\n\r\f\v");
  return bytes;
}

std::optional<Bytes> named_class(std::string_view name) {
  if (name == "digit") return digits();
  if (name == "alpha") return letters();
  if (name == "alnum") return letters() | digits();
  if (name == "space") return spaces();
  if (name == "upper") return range_of('A', 'Z');
  if (name == "lower") return range_of('a', 'z');
  if (name == "xdigit") return digits() | range_of('a', 'f') | range_of('A', 'F');
  if (name == "punct") return range_of('!', '~') & ~(letters() | digits());
  return std::nullopt;
}

/// The classes `\d`, `\w`, `\s`, and in upper case their complements.
std::optional<Bytes> letter_class(char letter) {
  switch (letter) {
    case 'd': return digits();
    case 'w': return letters() | digits() | bytes_in("_");
    case 's': return spaces();
    case 'D': return ~digits();
    case 'W': return ~(letters() | digits() | bytes_in("_"));
    case 'S': return ~spaces();
    default: return std::nullopt;
  }
}

std::optional<unsigned> hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return std::nullopt;
}

PatternTree tree_of(const Bytes& bytes) { return {PatternTree::Kind::bytes, bytes}; }
PatternTree tree_of(Pattern::Assertion assertion) { return {PatternTree::Kind::assertion, {}, assertion}; }

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<PatternTree> parse() {
    ignores_case_ = take("(?i)");
    TRY_ASSIGN(tree, choice(0));
    if (at_ < text_.size()) return wrong("has a ) without a (");
    return tree;
  }

 private:
  Failure wrong(const std::string& what) const {
    return fail(Errc::invalid, what + " at character " + std::to_string(at_ + 1));
  }
  bool is_over() const { return at_ == text_.size(); }
  bool sees(char c) const { return !is_over() && text_[at_] == c; }
  bool take(std::string_view token) {
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }

  Result<PatternTree> choice(int depth) {
    if (depth > depth_most) return wrong("has more than 100 groups inside each other");
    PatternTree tree{PatternTree::Kind::choice};
    do {
      TRY_ASSIGN(one, sequence(depth));
      tree.parts.push_back(std::move(one));
    } while (take("|"));
    return tree.parts.size() == 1 ? PatternTree(tree.parts.front()) : tree;
  }

  Result<PatternTree> sequence(int depth) {
    PatternTree tree{PatternTree::Kind::sequence};
    while (!is_over() && !sees('|') && !sees(')')) {
      TRY_ASSIGN(one, atom(depth));
      TRY_ASSIGN(repeated, repetition(std::move(one)));
      tree.parts.push_back(std::move(repeated));
    }
    return tree;
  }

  Result<PatternTree> repetition(PatternTree one) {
    for (int count = 0;; ++count) {
      PatternTree tree{PatternTree::Kind::repetition};
      if (take("*")) {
        tree.least = 0;
      } else if (take("+")) {
        tree.least = 1;
      } else if (take("?")) {
        tree.most = 1;
      } else if (sees('{')) {
        TRY(counts(tree));
      } else {
        return one;
      }
      if (count > 0) return wrong("repeats a repetition; put it into ( )");
      take("?");  // as few as possible: that changes nothing about whether there is a match
      tree.parts.push_back(std::move(one));
      one = std::move(tree);
    }
  }

  Result<void> counts(PatternTree& tree) {
    take("{");
    TRY_ASSIGN(least, number());
    tree.least = least;
    tree.most = least;
    if (take(",")) {
      tree.most.reset();
      if (!sees('}')) {
        TRY_ASSIGN(most, number());
        tree.most = most;
      }
    }
    if (!take("}")) return wrong("has a { without a }; write \\{ for the character");
    if (tree.most && *tree.most < tree.least) return wrong("repeats at most less than at least");
    return {};
  }

  Result<std::uint32_t> number() {
    std::uint32_t value = 0;
    const std::size_t begin = at_;
    while (!is_over() && text_[at_] >= '0' && text_[at_] <= '9') {
      value = value * 10 + static_cast<std::uint32_t>(text_[at_++] - '0');
      if (value > repetitions_most) return wrong("repeats more than 1000 times");
    }
    if (at_ == begin) return wrong("has a { without a number; write \\{ for the character");
    return value;
  }

  Result<PatternTree> atom(int depth) {
    if (take("(")) return group(depth);
    if (take("[")) {
      TRY_ASSIGN(bytes, set());
      return tree_of(bytes);
    }
    if (take(".")) return tree_of(~bytes_in("\n"));
    if (take("^")) return tree_of(Pattern::Assertion::begin);
    if (take("$")) return tree_of(Pattern::Assertion::end);
    if (take("\\b")) return tree_of(Pattern::Assertion::word_border);
    if (take("\\B")) return tree_of(Pattern::Assertion::no_word_border);
    if (sees('*') || sees('+') || sees('?') || sees('{')) return wrong("has nothing to repeat");
    if (take("\\")) {
      TRY_ASSIGN(bytes, escape());
      return tree_of(ignores_case_ ? both_cases(bytes) : bytes);
    }
    return character();
  }

  Result<PatternTree> group(int depth) {
    if (sees('?') && !take("?:")) return wrong("has a group with (? that is not (?:; only that is supported");
    TRY_ASSIGN(tree, choice(depth + 1));
    if (!take(")")) return wrong("has a ( without a )");
    return tree;
  }

  /// One character, also if it has several bytes.
  Result<PatternTree> character() {
    PatternTree tree{PatternTree::Kind::sequence};
    do {
      const Bytes bytes = bytes_in(text_.substr(at_++, 1));
      tree.parts.push_back(tree_of(ignores_case_ ? both_cases(bytes) : bytes));
    } while (!is_over() && (static_cast<unsigned char>(text_[at_]) & 0xC0) == 0x80);
    return tree;
  }

  /// What stands behind a backslash.
  Result<Bytes> escape() {
    if (is_over()) return wrong("ends with a backslash; write two for the character");
    const char c = text_[at_++];
    if (const auto bytes = letter_class(c)) return *bytes;
    static constexpr std::array<std::pair<char, char>, 6> controls{
        {{'t', '\t'}, {'n', '\n'}, {'r', '\r'}, {'f', '\f'}, {'v', '\v'}, {'0', '\0'}}};
    for (const auto& [letter, control] : controls) {
      if (c == letter) return bytes_in({&control, 1});
    }
    if (c == 'x') return hexadecimal();
    if (c >= '1' && c <= '9') return wrong("refers to a group, which is not supported,");
    if (letters()[static_cast<unsigned char>(c)]) return wrong("has an unknown escape \\" + std::string(1, c));
    return bytes_in({&c, 1});
  }

  Result<Bytes> hexadecimal() {
    const auto high = at_ < text_.size() ? hex_digit(text_[at_]) : std::nullopt;
    const auto low = at_ + 1 < text_.size() ? hex_digit(text_[at_ + 1]) : std::nullopt;
    if (!high || !low) return wrong("has \\x without two hexadecimal digits");
    at_ += 2;
    const auto byte = static_cast<unsigned char>(*high * 16 + *low);
    return range_of(byte, byte);
  }

  /// What stands in brackets.
  Result<Bytes> set() {
    const bool is_negated = take("^");
    Bytes bytes;
    for (bool is_first = true; is_first || !sees(']'); is_first = false) {
      if (is_over()) return wrong("has a [ without a ]");
      TRY_ASSIGN(one, element());
      if (one.count() == 1 && sees('-') && text_.substr(at_, 2) != "-]") {
        ++at_;
        if (is_over()) return wrong("has a [ without a ]");
        TRY_ASSIGN(last, element());
        const auto from = one._Find_first();
        const auto to = last._Find_first();
        if (last.count() != 1 || to < from) return wrong("has an invalid range in [ ]");
        one = range_of(static_cast<unsigned char>(from), static_cast<unsigned char>(to));
      }
      bytes |= one;
    }
    take("]");
    if (ignores_case_) bytes = both_cases(bytes);
    return is_negated ? ~bytes : bytes;
  }

  Result<Bytes> element() {
    if (take("\\b")) return bytes_in("\b");
    if (take("\\")) return escape();
    if (take("[:")) {
      const std::size_t end = std::min(text_.find(":]", at_), text_.size());
      const auto bytes = named_class(text_.substr(at_, end - at_));
      if (!bytes) return wrong("has an unknown class [: :]");
      at_ = end + 2;
      return *bytes;
    }
    if (static_cast<unsigned char>(text_[at_]) >= 0x80) {
      return wrong("has a character beyond ASCII in [ ], which is not supported; use (a|b),");
    }
    return bytes_in(text_.substr(at_++, 1));
  }

  const std::string_view text_;
  std::size_t at_ = 0;
  bool ignores_case_ = false;
};

}  // namespace

Result<PatternTree> parse_pattern(std::string_view text) { return Parser(text).parse(); }

}  // namespace cadre
