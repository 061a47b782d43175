#include "base/log.h"

#include <chrono>
#include <cstdio>
#include <string>

#include "base/time.h"

namespace cadre {

std::string_view to_string(Level level) {
  switch (level) {
    case Level::debug: return "debug";
    case Level::info: return "info";
    case Level::warning: return "warning";
    case Level::error: return "error";
  }
  return "unknown";
}

void StderrLog::write(Level level, std::string_view message) {
  if (level < lowest_) return;
  const auto now = std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now());
  std::string head = to_utc(TimePoint(Duration(now.time_since_epoch())));
  head.append(" ").append(to_string(level)).append(": ");
  std::string line = head;
  for (const char c : message) {  // names of others may be in it: a terminal must not take them for orders
    const auto byte = static_cast<unsigned char>(c);
    const bool is_control = (byte < 0x20 && c != '\n' && c != '\t') || byte == 0x7f;
    is_control ? line.append("\\x").append({"0123456789abcdef"[byte >> 4], "0123456789abcdef"[byte & 0xf]})
               : line.append(1, c);
    if (c == '\n') line += head;  // tools read logs line by line
  }
  line += '\n';
  std::fwrite(line.data(), 1, line.size(), stderr);  // one call: lines of several threads do not mix
}

}  // namespace cadre
