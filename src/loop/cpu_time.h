/// How much processor time the calling thread has used. Safe on any thread.
#pragma once

#include "base/time.h"

namespace cadre::loop {

Duration thread_cpu_time();

}  // namespace cadre::loop
