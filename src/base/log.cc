#include "base/log.h"

#include <cstdio>
#include <string>

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
  std::string line = "cadre: ";
  line.append(to_string(level)).append(": ").append(message).append("\n");
  std::fwrite(line.data(), 1, line.size(), stderr);  // one call: lines of several threads do not mix
}

}  // namespace cadre
