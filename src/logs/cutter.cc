#include "logs/cutter.h"

#include <algorithm>

namespace cadre::logs {

namespace {

/// Writes the front of `text` as records that continue, until it fits into one.
void shorten(Stream stream, std::string_view& text, TimePoint time, Bytes& out) {
  while (text.size() > line_bytes_max) {
    encode({stream, true, time, text.substr(0, line_bytes_max)}, out);
    text.remove_prefix(line_bytes_max);
  }
}

}  // namespace

void Cutter::take(Stream stream, std::string_view bytes, TimePoint time, Bytes& out) {
  std::string& rest = rests_[static_cast<std::size_t>(stream) - 1];
  for (std::size_t newline = bytes.find('\n'); newline != std::string_view::npos; newline = bytes.find('\n')) {
    std::string_view line = bytes.substr(0, newline);
    if (!rest.empty()) line = rest.append(line);
    shorten(stream, line, time, out);
    encode({stream, false, time, line}, out);
    rest.clear();
    bytes.remove_prefix(newline + 1);
  }
  if (bytes.empty()) return;
  if (!rest.empty()) bytes = rest.append(bytes);
  shorten(stream, bytes, time, out);
  rest = std::string(bytes);
}

void Cutter::flush(TimePoint time, Bytes& out) {
  for (std::size_t i = 0; i < rests_.size(); ++i) {
    if (rests_[i].empty()) continue;
    encode({static_cast<Stream>(i + 1), true, time, rests_[i]}, out);
    rests_[i].clear();
  }
}

bool Cutter::has_rest() const {
  return std::ranges::any_of(rests_, [](const std::string& rest) { return !rest.empty(); });
}

}  // namespace cadre::logs
