#include "loop/descriptor.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace cadre::loop {

void Descriptor::close() {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

Error system_error(std::string_view what, int error_number) {
  const std::string message = std::string(what) + ": " + std::strerror(error_number);
  switch (error_number) {
    case ENOSPC:
    case EDQUOT:
      return {Errc::unavailable, std::string(what) + ": " + std::string(disk_full_words) + ". Free space there."};
    case ENOENT: return {Errc::not_found, message};
    case EEXIST: return {Errc::conflict, message};
    case EACCES:
    case EPERM:
    case EROFS: return {Errc::denied, message};
    default: return {Errc::unavailable, message};
  }
}

Failure system_failure(std::string_view what) { return Failure(system_error(what, errno)); }

}  // namespace cadre::loop
