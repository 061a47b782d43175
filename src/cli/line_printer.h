/// Lines of several tasks on the two streams of a terminal or a pipe. One thread at a time.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <string_view>

#include "logs/record.h"

namespace cadre::cli {

class LinePrinter {
 public:
  enum class To : std::uint8_t { out, err };
  using Write = std::function<void(To, std::string_view)>;

  explicit LinePrinter(Write write) : write_(std::move(write)) {}

  /// A line of one task, as its stream says: what the system itself noted goes to the errors. `prefix` tells tasks
  /// apart; a line that goes on in another piece stays open until another task wants the stream.
  void print(std::string_view prefix, const logs::Line& line);

  /// Something to say of our own: on a line of its own.
  void note(std::string_view text);

 private:
  void close(To to);

  Write write_;
  std::array<std::string, 2> open_;  ///< by stream: the prefix and stream of the line that is open; empty: none
};

}  // namespace cadre::cli
