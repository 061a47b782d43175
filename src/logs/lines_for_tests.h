/// For the tests of this room: lines drawn by dice, and records in a form that is easy to compare. One thread at a
/// time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/dice.h"
#include "logs/record.h"

namespace cadre::logs {

inline TimePoint at(std::int64_t us) { return TimePoint(std::chrono::microseconds(us)); }

inline std::int64_t size_of(const Bytes& bytes) { return static_cast<std::int64_t>(bytes.size()); }

inline std::string random_text(Dice& dice, std::int64_t size) {
  std::string text(static_cast<std::size_t>(size), ' ');
  for (char& c : text) c = static_cast<char>(dice.between(0, 255));
  return text;
}

/// `out: text`, with a … where it continues.
inline std::string shown(const Line& line) {
  static constexpr const char* names[] = {"out: ", "err: ", "note: "};
  return names[static_cast<int>(line.stream) - 1] + std::string(line.text) + (line.continues ? "…" : "");
}

inline std::vector<std::string> shown(BytesView records) {
  std::vector<std::string> lines;
  Decoder decoder(records);
  while (const auto line = decoder.next()) lines.push_back(shown(*line));
  if (decoder.consumed() < records.size()) lines.emplace_back("and something that is no record");
  return lines;
}

/// Records of random lines, `size` bytes or a little more.
inline Bytes random_records(Dice& dice, std::size_t size) {
  Bytes bytes;
  while (bytes.size() < size) {
    const std::string text = random_text(dice, dice.magnitude(1, 200) - 1);
    encode({static_cast<Stream>(dice.between(1, 3)), dice.percent(10), at(dice.between(0, 1'000'000'000)), text},
           bytes);
  }
  return bytes;
}

}  // namespace cadre::logs
