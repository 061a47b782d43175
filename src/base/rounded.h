/// A length of time for people, rounded: the one spelling in error messages, log lines and the text of commands.
/// Values of options and files, and their bounds, are written by to_string, because parse_duration reads those back.
/// Safe on any thread.
#pragma once

#include <string>

#include "base/time.h"

namespace cadre {

/// `85 ms`, `0.9 s`, `1 s`, `42 s`, `3 min 20 s`, `1 h 5 min`, `5 d`: two units at most, rounded to the nearest.
std::string rounded(Duration duration);

}  // namespace cadre
