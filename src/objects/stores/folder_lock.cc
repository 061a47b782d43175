#include "objects/stores/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <thread>

#include "base/rounded.h"
#include "loop/backoff.h"
#include "loop/boot_clock.h"

namespace cadre::objects {

Result<loop::Descriptor> lock_folder(const std::string& path, Duration wait) {
  loop::Descriptor lock(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!lock) return loop::system_failure(path);
  const TimePoint end = loop::boot_now() + wait;
  loop::Backoff backoff(std::chrono::milliseconds(20), std::chrono::microseconds(200));
  while (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) {
      Error problem = loop::system_error(path, errno);
      problem.message += "; the file system must support flock";
      return Failure(std::move(problem));
    }
    if (loop::boot_now() >= end) {
      return fail(Errc::timed_out, path + ": other processes have held this lock for " + rounded(wait) +
                                       "; look for one that is stopped");
    }
    std::this_thread::sleep_for(backoff.next());
  }
  return lock;
}

}  // namespace cadre::objects
