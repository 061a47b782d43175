/// Opens the port of the master's API. For the main thread.
#pragma once

#include "base/log.h"
#include "base/result.h"
#include "cluster/data_folder.h"
#include "loop/descriptor.h"
#include "master/config.h"

namespace cadre::app {

/// As `http.listen` says. A port that nobody chose stays the same over restarts, if it is free, so that clients find
/// the master again. A port that is in use is tried again for some seconds: the process that has it may be about to
/// end.
[[nodiscard]] Result<loop::Descriptor> open_listener(const master::Http& http, const cluster::DataFolder& data,
                                                     Log& log);

}  // namespace cadre::app
