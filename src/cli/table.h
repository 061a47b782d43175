/// Tables, bars and colours for a terminal or a pipe. Values; one thread at a time.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cadre::cli {

enum class Colour { plain, green, yellow, red, dim, bold };

/// Whether a stream (1 or 2) is a terminal that takes colours; NO_COLOR and TERM=dumb turn them off.
bool takes_colours(int stream);

/// The text in a colour, or as it is.
std::string paint(std::string_view text, Colour colour, bool coloured);

/// Columns of text as wide as they need to be. The first row is the head.
class Table {
 public:
  explicit Table(std::vector<std::string> head) : rows_{std::move(head)} {}
  /// What others have named may hold anything: cells are shown with escapes for what a terminal would take for orders.
  void add(std::vector<std::string> row);
  bool empty() const { return rows_.size() < 2; }
  /// Rows that are wider than so many cells are cut.
  std::string to_text(bool coloured, std::optional<std::size_t> most = std::nullopt) const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

/// A bar of `width` cells, filled in eighths up to `share` (0..1).
std::string bar(double share, std::size_t width);

}  // namespace cadre::cli
