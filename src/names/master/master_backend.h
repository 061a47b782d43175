/// Names that a master serves, asked over HTTP. For the loop's thread.
#pragma once

#include <memory>

#include "base/result.h"
#include "loop/real_loop.h"
#include "names/backend.h"
#include "names/names.h"
#include "names/url.h"

namespace cadre::names {

/// The URL must have an address.
[[nodiscard]] std::shared_ptr<Backend> make_master_backend(loop::RealLoop& loop, const MasterUrl& url,
                                                           const Options& options);

}  // namespace cadre::names
