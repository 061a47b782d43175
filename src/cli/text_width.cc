#include "cli/text_width.h"

#include <algorithm>
#include <array>

namespace cadre::cli {
namespace {

struct CodeRange {
  char32_t first;
  char32_t last;
};

/// East_Asian_Width W and F of Unicode 14. The functions of the C library depend on the locale.
constexpr std::array wide_ranges = {
    CodeRange{0x1100, 0x115f},   CodeRange{0x231a, 0x231b},   CodeRange{0x2329, 0x232a},   CodeRange{0x23e9, 0x23ec},
    CodeRange{0x23f0, 0x23f0},   CodeRange{0x23f3, 0x23f3},   CodeRange{0x25fd, 0x25fe},   CodeRange{0x2614, 0x2615},
    CodeRange{0x2648, 0x2653},   CodeRange{0x267f, 0x267f},   CodeRange{0x2693, 0x2693},   CodeRange{0x26a1, 0x26a1},
    CodeRange{0x26aa, 0x26ab},   CodeRange{0x26bd, 0x26be},   CodeRange{0x26c4, 0x26c5},   CodeRange{0x26ce, 0x26ce},
    CodeRange{0x26d4, 0x26d4},   CodeRange{0x26ea, 0x26ea},   CodeRange{0x26f2, 0x26f3},   CodeRange{0x26f5, 0x26f5},
    CodeRange{0x26fa, 0x26fa},   CodeRange{0x26fd, 0x26fd},   CodeRange{0x2705, 0x2705},   CodeRange{0x270a, 0x270b},
    CodeRange{0x2728, 0x2728},   CodeRange{0x274c, 0x274c},   CodeRange{0x274e, 0x274e},   CodeRange{0x2753, 0x2755},
    CodeRange{0x2757, 0x2757},   CodeRange{0x2795, 0x2797},   CodeRange{0x27b0, 0x27b0},   CodeRange{0x27bf, 0x27bf},
    CodeRange{0x2b1b, 0x2b1c},   CodeRange{0x2b50, 0x2b50},   CodeRange{0x2b55, 0x2b55},   CodeRange{0x2e80, 0x303e},
    CodeRange{0x3041, 0x3247},   CodeRange{0x3250, 0x4dbf},   CodeRange{0x4e00, 0xa4cf},   CodeRange{0xa960, 0xa97f},
    CodeRange{0xac00, 0xd7a3},   CodeRange{0xf900, 0xfaff},   CodeRange{0xfe10, 0xfe19},   CodeRange{0xfe30, 0xfe6f},
    CodeRange{0xff01, 0xff60},   CodeRange{0xffe0, 0xffe6},   CodeRange{0x16fe0, 0x18d08}, CodeRange{0x1aff0, 0x1b2fb},
    CodeRange{0x1f004, 0x1f004}, CodeRange{0x1f0cf, 0x1f0cf}, CodeRange{0x1f18e, 0x1f18e}, CodeRange{0x1f191, 0x1f19a},
    CodeRange{0x1f200, 0x1f320}, CodeRange{0x1f32d, 0x1f335}, CodeRange{0x1f337, 0x1f37c}, CodeRange{0x1f37e, 0x1f393},
    CodeRange{0x1f3a0, 0x1f3ca}, CodeRange{0x1f3cf, 0x1f3d3}, CodeRange{0x1f3e0, 0x1f3f0}, CodeRange{0x1f3f4, 0x1f3f4},
    CodeRange{0x1f3f8, 0x1f43e}, CodeRange{0x1f440, 0x1f440}, CodeRange{0x1f442, 0x1f4fc}, CodeRange{0x1f4ff, 0x1f53d},
    CodeRange{0x1f54b, 0x1f54e}, CodeRange{0x1f550, 0x1f567}, CodeRange{0x1f57a, 0x1f57a}, CodeRange{0x1f595, 0x1f596},
    CodeRange{0x1f5a4, 0x1f5a4}, CodeRange{0x1f5fb, 0x1f64f}, CodeRange{0x1f680, 0x1f6c5}, CodeRange{0x1f6cc, 0x1f6cc},
    CodeRange{0x1f6d0, 0x1f6d2}, CodeRange{0x1f6d5, 0x1f6df}, CodeRange{0x1f6eb, 0x1f6ec}, CodeRange{0x1f6f4, 0x1f6fc},
    CodeRange{0x1f7e0, 0x1f7f0}, CodeRange{0x1f90c, 0x1f93a}, CodeRange{0x1f93c, 0x1f945}, CodeRange{0x1f947, 0x1f9ff},
    CodeRange{0x1fa70, 0x1faff}, CodeRange{0x20000, 0x3fffd},
};

/// Combining characters of the scripts that terminals combine, and characters without a width.
constexpr std::array zero_ranges = {
    CodeRange{0x300, 0x36f},     CodeRange{0x483, 0x489},   CodeRange{0x591, 0x5bd},   CodeRange{0x610, 0x61a},
    CodeRange{0x64b, 0x65f},     CodeRange{0x670, 0x670},   CodeRange{0x6d6, 0x6dc},   CodeRange{0x6df, 0x6e4},
    CodeRange{0x6e7, 0x6e8},     CodeRange{0x6ea, 0x6ed},   CodeRange{0x93c, 0x93c},   CodeRange{0x941, 0x948},
    CodeRange{0x94d, 0x94d},     CodeRange{0xe31, 0xe31},   CodeRange{0xe34, 0xe3a},   CodeRange{0xe47, 0xe4e},
    CodeRange{0x1ab0, 0x1aff},   CodeRange{0x1dc0, 0x1dff}, CodeRange{0x200b, 0x200f}, CodeRange{0x20d0, 0x20f0},
    CodeRange{0x302a, 0x302d},   CodeRange{0x3099, 0x309a}, CodeRange{0xfe00, 0xfe0f}, CodeRange{0xfe20, 0xfe2f},
    CodeRange{0xe0100, 0xe01ef},
};

template <std::size_t count>
bool is_in(const std::array<CodeRange, count>& ranges, char32_t code) {
  const auto after = std::upper_bound(ranges.begin(), ranges.end(), code,
                                      [](char32_t c, const CodeRange& one) { return c < one.first; });
  return after != ranges.begin() && code <= std::prev(after)->last;
}

struct Character {
  std::size_t bytes = 1;
  std::size_t cells = 1;
};

/// The first character of a text that is not empty.
Character first_of(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  const std::size_t length = lead < 0xc0 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf8 ? 4 : 1;
  if (length == 1 || length > text.size()) return {};
  auto code = static_cast<char32_t>(lead & (0x7f >> length));
  for (std::size_t i = 1; i < length; ++i) {
    const auto next = static_cast<unsigned char>(text[i]);
    if ((next & 0xc0) != 0x80) return {};
    code = code << 6 | (next & 0x3f);
  }
  return {length, is_in(zero_ranges, code) ? 0U : is_in(wide_ranges, code) ? 2U : 1U};
}

}  // namespace

std::size_t cells_of(std::string_view text) {
  std::size_t cells = 0;
  while (!text.empty()) {
    const Character next = first_of(text);
    cells += next.cells;
    text.remove_prefix(next.bytes);
  }
  return cells;
}

std::string cut_to_cells(std::string_view text, std::size_t most) {
  if (cells_of(text) <= most) return std::string(text);
  if (most == 0) return "";
  std::size_t bytes = 0;
  for (std::size_t cells = 0; bytes < text.size();) {
    const Character next = first_of(text.substr(bytes));
    if (cells + next.cells > most - 1) break;
    cells += next.cells;
    bytes += next.bytes;
  }
  return std::string(text.substr(0, bytes)) + "…";
}

std::string fit_to_cells(std::string_view text, std::size_t cells) {
  std::string fitted = cut_to_cells(text, cells);
  fitted.append(cells - cells_of(fitted), ' ');
  return fitted;
}

}  // namespace cadre::cli
