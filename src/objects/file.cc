#include "objects/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace cadre::objects {

Failure system_failure(std::string_view path, int error_number) {
  std::string message = std::string(path) + ": ";
  switch (error_number) {
    case ENOSPC:
    case EDQUOT: return fail(Errc::unavailable, message + "the disk is full. Free space there.");
    case ENOENT: return fail(Errc::not_found, message + "not there");
    case EEXIST: return fail(Errc::conflict, message + "there already");
    case EACCES:
    case EPERM:
    case EROFS: return fail(Errc::denied, message + std::strerror(error_number));
    default: return fail(Errc::unavailable, message + std::strerror(error_number));
  }
}

File& File::operator=(File&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(path_, other.path_);
  return *this;
}

File::~File() {
  if (fd_ >= 0) ::close(fd_);
}

Result<File> File::open(std::string path, int flags) {
  const int fd = ::open(path.c_str(), flags | O_CLOEXEC, 0600);
  if (fd < 0) return system_failure(path, errno);
  return File(fd, std::move(path));
}

Result<File> File::open_entry(const std::string& name, int flags) const {
  std::string path = path_ + "/" + name;
  const int fd = openat(fd_, name.c_str(), flags | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return system_failure(path, errno);
  return File(fd, std::move(path));
}

Result<std::int64_t> File::size() const {
  struct stat facts {};
  if (fstat(fd_, &facts) != 0) return system_failure(path_, errno);
  return facts.st_size;
}

Result<std::size_t> File::read(std::span<std::byte> into) {
  std::size_t done = 0;
  while (done < into.size()) {
    const ssize_t n = ::read(fd_, into.data() + done, into.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return system_failure(path_, errno);
    if (n == 0) break;
    done += static_cast<std::size_t>(n);
  }
  return done;
}

Result<std::size_t> File::read_at(std::int64_t position, std::span<std::byte> into) const {
  std::size_t done = 0;
  while (done < into.size()) {
    const ssize_t n = pread(fd_, into.data() + done, into.size() - done, position + static_cast<std::int64_t>(done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return system_failure(path_, errno);
    if (n == 0) break;
    done += static_cast<std::size_t>(n);
  }
  return done;
}

Result<void> File::write(BytesView bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd_, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return system_failure(path_, errno);
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
  return {};
}

Result<void> File::truncate(std::int64_t size_bytes) {
  if (ftruncate(fd_, size_bytes) != 0) return system_failure(path_, errno);
  return {};
}

Result<void> File::sync() {
  if (fsync(fd_) != 0) return system_failure(path_, errno);
  return {};
}

Result<void> make_folder(const std::string& folder) {
  if (mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST) return {};
  const int error = errno;
  const std::size_t slash = folder.find_last_of('/');
  if (error != ENOENT || slash == std::string::npos || slash == 0) return system_failure(folder, error);
  TRY(make_folder(folder.substr(0, slash)));
  if (mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST) return {};
  return system_failure(folder, errno);
}

Result<void> sync_folder(const std::string& folder) {
  TRY_ASSIGN(opened, File::open(folder, O_RDONLY | O_DIRECTORY));
  return opened.sync();
}

Result<void> remove_all(const std::string& path) {
  std::error_code error;
  std::filesystem::remove_all(path, error);
  if (error) return system_failure(path, error.value());
  return {};
}

}  // namespace cadre::objects
