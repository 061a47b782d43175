#include "supervisor/descriptor.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>

#include "base/bytes.h"

namespace cadre::supervisor {

Result<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return system_failure("pipe");
  return Pipe{Descriptor(ends[0]), Descriptor(ends[1])};
}

void set_nonblocking(int fd) { ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK); }

Result<void> write_existing(const std::string& path, std::string_view text) {
  TRY_ASSIGN(file, loop::File::open(path, O_WRONLY));
  return file.write(as_bytes(text));
}

Result<Descriptor> lock_file(const std::string& path) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return system_failure(path);
  if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) return fail(Errc::conflict, path + " is used by another process");
  return file;
}

void close_all_but(int kept) {
  if (kept > 3) ::close_range(3, static_cast<unsigned>(kept) - 1, 0);
  ::close_range(static_cast<unsigned>(kept < 3 ? 3 : kept + 1), ~0U, 0);
}

}  // namespace cadre::supervisor
