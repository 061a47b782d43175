/// A length of time as people say it, rounded; what programs read is written exactly by to_string. Safe on any thread.
#pragma once

#include <string>

#include "base/time.h"

namespace cadre {

/// `85 ms`, `0.9 s`, `1 s`, `42 s`, `3 min 20 s`, `1 h 5 min`, `5 d`: two units at most, rounded to the nearest.
std::string rounded(Duration duration);

}  // namespace cadre
