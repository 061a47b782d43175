#include "logs/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

namespace cadre::logs {

Failure system_failure(std::string_view path, int error_number) {
  std::string message = std::string(path) + ": ";
  switch (error_number) {
    case ENOSPC:
    case EDQUOT: return fail(Errc::unavailable, message + "the disk is full. Free space there.");
    case ENOENT: return fail(Errc::not_found, message + "not there");
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

Result<File> File::open(std::string path, int flags) {
  const int fd = ::open(path.c_str(), flags | O_CLOEXEC, 0600);
  if (fd < 0) return system_failure(path, errno);
  return File(fd, std::move(path));
}

void File::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

Result<std::int64_t> File::size() const {
  struct stat facts {};
  if (fstat(fd_, &facts) != 0) return system_failure(path_, errno);
  return facts.st_size;
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

Result<void> File::append(BytesView bytes, std::size_t& written) {
  written = 0;
  while (written < bytes.size()) {
    const ssize_t n = ::write(fd_, bytes.data() + written, bytes.size() - written);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return system_failure(path_, errno);
    written += static_cast<std::size_t>(n);
  }
  return {};
}

Result<void> File::truncate(std::int64_t size_bytes) {
  if (ftruncate(fd_, size_bytes) != 0) return system_failure(path_, errno);
  return {};
}

Result<void> File::sync() {
  if (fdatasync(fd_) != 0) return system_failure(path_, errno);
  return {};
}

namespace {

std::optional<std::int64_t> number_of(std::string_view name, std::string_view suffix) {
  if (name.size() <= suffix.size() || !name.ends_with(suffix)) return std::nullopt;
  name.remove_suffix(suffix.size());
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc{} || end != name.data() + name.size() || number < 0) return std::nullopt;
  return number;
}

}  // namespace

Result<std::vector<std::int64_t>> numbered_files(const std::string& folder, std::string_view suffix) {
  std::vector<std::int64_t> numbers;
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(opendir(folder.c_str()), closedir);
  if (!entries) {
    if (errno == ENOENT) return numbers;
    return system_failure(folder, errno);
  }
  while (const dirent* entry = readdir(entries.get())) {
    if (const auto number = number_of(entry->d_name, suffix)) numbers.push_back(*number);
  }
  std::ranges::sort(numbers);
  return numbers;
}

std::string numbered_path(const std::string& folder, std::int64_t number, std::string_view suffix) {
  char digits[24];
  std::snprintf(digits, sizeof(digits), "%012lld", static_cast<long long>(number));
  return folder + "/" + digits + std::string(suffix);
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
  if (fsync(opened.fd()) != 0) return system_failure(folder, errno);
  return {};
}

}  // namespace cadre::logs
