#include "app/descriptor_limit.h"

#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <string>

namespace cadre::app {
namespace {

/// Fewer are few for a master with its agents.
constexpr rlim_t enough = 4'096;

}  // namespace

void raise_descriptor_limit(Log& log) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) {
    log.warning(std::string("cannot raise the limit of open files: ") + std::strerror(errno));
  }
  if (limit.rlim_max < enough) {
    log.warning("at most " + std::to_string(limit.rlim_max) +
                " files and connections can be open; raise the hard limit (ulimit -Hn, LimitNOFILE) for more clients");
  }
}

std::int64_t descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return enough;
  return static_cast<std::int64_t>(
      std::min<rlim_t>(limit.rlim_cur, static_cast<rlim_t>(std::numeric_limits<std::int32_t>::max())));
}

}  // namespace cadre::app
