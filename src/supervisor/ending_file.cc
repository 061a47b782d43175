#include "supervisor/ending_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "cluster/ending.h"

namespace cadre::supervisor {

namespace {

constexpr const char* name = "ending";
constexpr const char* draft = "ending.new";
constexpr off_t reserved_bytes = 4'096;  // one block; an ending that is longer needs room like any other file

}  // namespace

Result<void> EndingFile::reserve() {
  TRY_ASSIGN(file, loop::File::open_draft(draft));
  // Where the file system cannot reserve, zeros take the space.
  if (::fallocate(file.fd(), 0, 0, reserved_bytes) != 0) {
    if (errno != EOPNOTSUPP && errno != ENOSYS) return loop::system_failure(draft);
    const Bytes zeros(reserved_bytes);
    TRY(file.write(zeros));
  }
  reserved_ = std::move(file);
  return {};
}

bool EndingFile::is_in_place() const {
  struct stat ours {};
  struct stat there {};
  return reserved_.is_open() && ::fstat(reserved_.fd(), &ours) == 0 && ::lstat(draft, &there) == 0 &&
         ours.st_dev == there.st_dev && ours.st_ino == there.st_ino;
}

Result<void> EndingFile::write(const cluster::TaskEnding& ending, loop::Durable durable) {
  const Bytes bytes = cluster::seal(ending);
  if (!is_in_place()) return loop::write_whole(name, bytes, durable);
  if (::lseek(reserved_.fd(), 0, SEEK_SET) != 0) return loop::system_failure(draft);
  TRY(reserved_.write(bytes));
  TRY(reserved_.truncate(static_cast<std::int64_t>(bytes.size())));
  if (durable == loop::Durable::yes) TRY(reserved_.sync());
  TRY(loop::rename_file(draft, name));
  return durable == loop::Durable::yes ? loop::sync_folder(".") : Result<void>{};
}

}  // namespace cadre::supervisor
