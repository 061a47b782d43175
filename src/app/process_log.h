/// The log of a master or an agent. Any thread.
#pragma once

#include <memory>
#include <string>

#include "base/log.h"

namespace cadre::app {

/// How its lines look on standard error: for people, or one JSON object each with time, level, part and message.
enum class LogForm : std::uint8_t { text, json };

struct LogOptions {
  Level lowest = Level::info;
  LogForm form = LogForm::text;
};

/// `part` is who speaks: master, agent.
[[nodiscard]] std::unique_ptr<Log> make_log(const std::string& part, const LogOptions& options);

}  // namespace cadre::app
