#include "objects/tree.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <span>

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

/// A range of a file, which is at the same place in both.
struct Range {
  off_t begin = 0;
  off_t end = 0;
};

Result<void> copy_by_hand(const File& from, File& to, Range range) {
  if (lseek(to.fd(), range.begin, SEEK_SET) < 0) return system_failure(to.path());
  Bytes bytes(copy_bytes);
  while (range.begin < range.end) {
    const auto wanted = std::min(bytes.size(), static_cast<std::size_t>(range.end - range.begin));
    TRY_ASSIGN(read, from.read_at(range.begin, std::span(bytes).first(wanted)));
    if (read == 0) return {};
    TRY(to.write(BytesView(bytes).first(read)));
    range.begin += static_cast<off_t>(read);
  }
  return {};
}

Result<void> copy_range(const File& from, File& to, Range range) {
  off_t at = range.begin;
  while (range.begin < range.end) {
    const auto wanted = std::min(piece_bytes, static_cast<std::size_t>(range.end - range.begin));
    const ssize_t copied = copy_file_range(from.fd(), &range.begin, to.fd(), &at, wanted, 0);
    if (copied == 0) return {};
    if (copied > 0) continue;
    if (errno != EXDEV && errno != ENOSYS && errno != EINVAL && errno != EOPNOTSUPP) return system_failure(to.path());
    return copy_by_hand(from, to, range);
  }
  return {};
}

/// The next range at or after `at` that is not a hole; all of the rest where the file system does not tell.
std::optional<Range> next_data(const File& file, off_t at, off_t size) {
  const off_t begin = lseek(file.fd(), at, SEEK_DATA);
  if (begin < 0 && errno == ENXIO) return std::nullopt;
  const off_t end = begin < 0 ? begin : lseek(file.fd(), begin, SEEK_HOLE);
  return end < 0 ? Range{at, size} : Range{begin, std::min(end, size)};
}

/// Holes take no space, and are not made to.
Result<void> copy_content(const File& from, File& to, off_t size) {
  off_t done = 0;
  while (done < size) {
    const std::optional<Range> data = next_data(from, done, size);
    if (!data) break;
    TRY(copy_range(from, to, *data));
    done = data->end;
  }
  return to.truncate(size);
}

Result<void> copy_file(const std::string& from_path, const std::string& to_path, mode_t mode) {
  TRY_ASSIGN(from, File::open(from_path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK));
  if (!from.is_plain()) return fail(Errc::denied, from_path + " was replaced while it was copied");
  TRY_ASSIGN(to, File::open(to_path, O_WRONLY | O_CREAT | O_EXCL));
  TRY_ASSIGN(size, from.size());
  TRY(copy_content(from, to, size));
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

class Measure {
 public:
  explicit Measure(const TreeBounds& bounds) : bounds_(bounds) {}

  ByteSize disk() const { return disk_; }

  Result<void> add_folder(const std::string& folder, int level) {
    if (level > bounds_.levels_max) {
      return fail(Errc::invalid,
                  "its folders are nested deeper than " + std::to_string(bounds_.levels_max) + " levels");
    }
    std::error_code error;
    for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
      TRY(add(entry->path().string(), level));
    }
    if (error) return Failure(system_error(folder, error.value()));
    return {};
  }

 private:
  Result<void> add(const std::string& path, int level) {
    constexpr std::int64_t block_bytes = 512;
    struct stat facts {};
    if (lstat(path.c_str(), &facts) != 0) return {};
    disk_ += ByteSize{facts.st_blocks * block_bytes};
    if (disk_ > bounds_.disk_max) return too_large("of disk space", bounds_.disk_max);
    if (S_ISREG(facts.st_mode) && ByteSize{facts.st_size} > bounds_.length_max - length_) {
      return too_large("in files, with the holes in them", bounds_.length_max);
    }
    if (S_ISREG(facts.st_mode)) length_ += ByteSize{facts.st_size};
    if (++entries_ > bounds_.entries_max) {
      return fail(Errc::invalid, "it has more than " + std::to_string(bounds_.entries_max) + " files and folders");
    }
    return S_ISDIR(facts.st_mode) ? add_folder(path, level + 1) : Result<void>();
  }

  static Failure too_large(const std::string& what, ByteSize most) {
    return fail(Errc::invalid, "it takes more than " + to_string(most) + " " + what);
  }

  const TreeBounds& bounds_;
  ByteSize disk_{0};
  ByteSize length_{0};
  std::int64_t entries_ = 0;
};

}  // namespace

Result<void> copy_tree(const std::string& from, const std::string& to) {
  TRY(make_folder(to));
  std::error_code error;
  if (!fs::is_empty(to, error) || error) return fail(Errc::conflict, to + " is not empty");
  return copy_folder(from, to);
}

Result<ByteSize> size_of_tree(const std::string& folder, const TreeBounds& bounds) {
  Measure measure(bounds);
  TRY(measure.add_folder(folder, 1));
  return measure.disk();
}

}  // namespace cadre::objects
