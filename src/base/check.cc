#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace cadre {

void check_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "cadre: internal error: assertion failed: %s (%s:%d)\n", condition, file, line);
  std::fflush(stderr);
  std::abort();
}

}  // namespace cadre
