#include "objects/tree.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <optional>

#include "loop/file.h"

namespace cadre::objects {

using loop::copy_bytes;
using loop::File;
using loop::make_folder;
using loop::system_error;
using loop::system_failure;

namespace {

namespace fs = std::filesystem;

constexpr std::size_t piece_bytes = std::size_t{1} << 30;

Result<void> copy_by_hand(File& from, File& to) {
  Bytes bytes(copy_bytes);
  while (true) {
    TRY_ASSIGN(read, from.read(bytes));
    if (read == 0) return {};
    TRY(to.write(BytesView(bytes).first(read)));
  }
}

Result<void> copy_file(const std::string& from_path, const std::string& to_path, mode_t mode) {
  TRY_ASSIGN(from, File::open(from_path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK));
  if (!from.is_plain()) return fail(Errc::denied, from_path + " was replaced while it was copied");
  TRY_ASSIGN(to, File::open(to_path, O_WRONLY | O_CREAT | O_EXCL));
  ssize_t copied = 1;
  while (copied > 0) copied = copy_file_range(from.fd(), nullptr, to.fd(), nullptr, piece_bytes, 0);
  if (copied < 0 && errno != EXDEV && errno != ENOSYS && errno != EINVAL && errno != EOPNOTSUPP) {
    return system_failure(to_path);
  }
  if (copied < 0) TRY(copy_by_hand(from, to));
  if (fchmod(to.fd(), mode & 07777) != 0) return system_failure(to_path);
  return {};
}

Result<void> copy_link(const std::string& from, const std::string& to) {
  std::error_code error;
  fs::copy_symlink(from, to, error);
  if (error) return Failure(system_error(to, error.value()));
  return {};
}

Result<void> copy_folder(const std::string& from, const std::string& to);

Result<void> copy_entry(const std::string& from, const std::string& to) {
  struct stat facts {};
  if (lstat(from.c_str(), &facts) != 0) return system_failure(from);
  if (S_ISLNK(facts.st_mode)) return copy_link(from, to);
  if (S_ISREG(facts.st_mode)) return copy_file(from, to, facts.st_mode);
  if (!S_ISDIR(facts.st_mode)) return {};
  if (mkdir(to.c_str(), 0700) != 0) return system_failure(to);
  TRY(copy_folder(from, to));
  if (chmod(to.c_str(), facts.st_mode & 07777) != 0) return system_failure(to);
  return {};
}

Result<void> copy_folder(const std::string& from, const std::string& to) {
  std::error_code error;
  for (fs::directory_iterator entry(from, error), end; !error && entry != end; entry.increment(error)) {
    TRY(copy_entry(entry->path().string(), (fs::path(to) / entry->path().filename()).string()));
  }
  if (error) return Failure(system_error(from, error.value()));
  return {};
}

}  // namespace

Result<void> copy_tree(const std::string& from, const std::string& to) {
  TRY(make_folder(to));
  std::error_code error;
  if (!fs::is_empty(to, error) || error) return fail(Errc::conflict, to + " is not empty");
  return copy_folder(from, to);
}

Result<ByteSize> size_of_tree(const std::string& folder) {
  constexpr std::int64_t block_bytes = 512;
  std::int64_t size = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    struct stat facts {};
    if (lstat(entry->path().c_str(), &facts) == 0) size += facts.st_blocks * block_bytes;
  }
  if (error) return Failure(system_error(folder, error.value()));
  return ByteSize{size};
}

}  // namespace cadre::objects
