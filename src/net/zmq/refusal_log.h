/// Says what an end refuses, but not oftener than every ten seconds: a flood of strangers is no flood of lines. For the
/// thread of the loop.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/log.h"
#include "base/time.h"
#include "loop/loop.h"

namespace cadre::net {

class RefusalLog {
 public:
  RefusalLog(loop::Loop& loop, Log& log, std::string where) : loop_(loop), log_(log), where_(std::move(where)) {}

  /// `what` must hold no secret.
  void note(std::string_view what) {
    ++unsaid_;
    if (loop_.now() < silent_until_) return;
    silent_until_ = loop_.now() + std::chrono::seconds(10);
    const std::string others = unsaid_ > 1 ? " (and " + std::to_string(unsaid_ - 1) + " more since the last line)" : "";
    unsaid_ = 0;
    log_.warning(where_ + ": refused: " + std::string(what) + others);
  }

 private:
  loop::Loop& loop_;
  Log& log_;
  const std::string where_;
  TimePoint silent_until_{};
  std::uint64_t unsaid_ = 0;
};

}  // namespace cadre::net
