/// What a module says to the log, without knowing where logs go; the process chooses one sink. A sink must bear calls
/// from any thread.
#pragma once

#include <cstdint>
#include <string_view>

namespace cadre {

enum class Level : std::uint8_t { debug, info, warning, error };

std::string_view to_string(Level level);

class Log {
 public:
  virtual ~Log() = default;
  virtual void write(Level level, std::string_view message) = 0;
  /// Whether messages of this level are written.
  virtual bool shows(Level) const { return true; }

  /// Calls `compose` for the message only if it is written.
  template <class Compose>
  void debug(const Compose& compose) {
    if (shows(Level::debug)) write(Level::debug, compose());
  }
  void info(std::string_view message) { write(Level::info, message); }
  void warning(std::string_view message) { write(Level::warning, message); }
  void error(std::string_view message) { write(Level::error, message); }
};

/// Says nothing.
class SilentLog final : public Log {
 public:
  void write(Level, std::string_view) override {}
  bool shows(Level) const override { return false; }
};

/// One line to standard error for each message at or above a level: time, level, message.
class StderrLog final : public Log {
 public:
  explicit StderrLog(Level lowest) : lowest_(lowest) {}
  void write(Level level, std::string_view message) override;
  bool shows(Level level) const override { return level >= lowest_; }

 private:
  Level lowest_;
};

}  // namespace cadre
