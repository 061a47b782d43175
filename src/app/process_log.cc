#include "app/process_log.h"

#include <chrono>
#include <cstdio>

#include "base/time.h"
#include "describe/utf8.h"

namespace cadre::app {
namespace {

class JsonLog final : public Log {
 public:
  JsonLog(std::string part, Level lowest) : part_(std::move(part)), lowest_(lowest) {}

  bool shows(Level level) const override { return level >= lowest_; }

  void write(Level level, std::string_view message) override {
    if (!shows(level)) return;
    const TimePoint now(std::chrono::duration_cast<Duration>(std::chrono::system_clock::now().time_since_epoch()));
    const std::string line =
        "{\"time\":" + describe::quoted(to_utc(now)) + ",\"level\":" + describe::quoted(to_string(level)) +
        ",\"part\":" + describe::quoted(part_) + ",\"message\":" + describe::quoted(message) + "}\n";
    std::fwrite(line.data(), 1, line.size(), stderr);  // one call: lines of several threads do not mix
  }

 private:
  const std::string part_;
  const Level lowest_;
};

}  // namespace

std::unique_ptr<Log> make_log(const std::string& part, const LogOptions& options) {
  if (options.form == LogForm::json) return std::make_unique<JsonLog>(part, options.lowest);
  return std::make_unique<StderrLog>(options.lowest);
}

}  // namespace cadre::app
