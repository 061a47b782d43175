/// Writes text for people on a thread of its own, so that a terminal or pipe that takes nothing delays nobody else.
/// What does not fit is skipped and counted. Safe on any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/time.h"

namespace cadre::client {

class Printer {
 public:
  enum class Stream : std::uint8_t { out, err };
  using Sink = std::function<void(Stream, const std::string&)>;
  static constexpr std::size_t waiting_bytes_max = 1 << 20;

  /// Standard output and standard error of this process.
  static Sink to_this_process();
  explicit Printer(Sink sink);
  Printer(const Printer&) = delete;
  Printer& operator=(const Printer&) = delete;
  /// Waits for what is being written, but not for long.
  ~Printer();

  /// Whole lines. Never waits.
  void print(Stream stream, std::string text);
  /// Waits until all is written, at most so long; says whether it is.
  bool finish(Duration most);
  /// Waits like this; then nothing more is written, and the sink is not called again.
  void close(Duration most);

 private:
  struct State;
  static void serve(const std::shared_ptr<State>& state);
  std::shared_ptr<State> state_;  ///< shared with the thread, which may be stuck in the sink when this ends
};

}  // namespace cadre::client
