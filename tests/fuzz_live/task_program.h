/// What a task does that sends hostile packets. One thread at a time.
#pragma once

#include <string>

#include "base/dice.h"

namespace cadre::fuzz_live {

/// What it reports in the end.
constexpr const char* last_report = "all packets were sent";

/// A program for a task that sends hostile packets on its socket, some of them among the counters of a beat, and then a
/// report, until the master has accepted it. Python, and not this program: that need not be visible inside of a task.
[[nodiscard]] std::string task_program(Dice& dice);

}  // namespace cadre::fuzz_live
