/// Cuts what comes out of pipes into lines. One thread at a time.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "logs/record.h"

namespace cadre::logs {

class Cutter {
 public:
  /// Appends the records of all lines that are whole now to `out`; the rest waits for more. A line longer than
  /// line_bytes_max becomes several records.
  void take(Stream stream, std::string_view bytes, TimePoint time, Bytes& out);
  /// Appends what waits, as records that continue.
  void flush(TimePoint time, Bytes& out);
  bool has_rest() const;

 private:
  std::array<std::string, 3> rests_;  ///< of each stream; line_bytes_max at most
};

}  // namespace cadre::logs
