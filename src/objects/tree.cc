#include "objects/tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <filesystem>
#include <functional>
#include <memory>
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

/// Folders are opened one from another, never through a link: somebody may replace what is in them meanwhile.
constexpr int folder_flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW;

struct FoundEntry {
  std::string name;
  struct stat facts;
};

Result<void> for_each_entry(const File& folder, const std::function<Result<void>(const FoundEntry&)>& fn) {
  loop::Descriptor again(openat(folder.fd(), ".", folder_flags | O_CLOEXEC));
  if (!again) return system_failure(folder.path());
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(fdopendir(again.get()), closedir);
  if (!entries) return system_failure(folder.path());
  static_cast<void>(again.release());  // it is closed with the others
  for (;;) {
    errno = 0;
    const dirent* found = readdir(entries.get());
    if (found == nullptr && errno != 0) return system_failure(folder.path());
    if (found == nullptr) return {};
    FoundEntry entry{found->d_name, {}};
    if (entry.name == "." || entry.name == "..") continue;
    if (fstatat(folder.fd(), entry.name.c_str(), &entry.facts, AT_SYMLINK_NOFOLLOW) != 0) {
      if (errno == ENOENT) continue;
      return system_failure(folder.path() + "/" + entry.name);
    }
    TRY(fn(entry));
  }
}

/// What was seen of a tree.
class Measure {
 public:
  explicit Measure(const TreeBounds& bounds) : bounds_(bounds) {}

  ByteSize disk() const { return disk_; }

  Result<void> enter(int level) const {
    if (level <= bounds_.levels_max) return {};
    return fail(Errc::invalid, "its folders are nested deeper than " + std::to_string(bounds_.levels_max) + " levels");
  }
  Result<void> add(const struct stat& facts) {
    constexpr std::int64_t block_bytes = 512;
    disk_ += ByteSize{facts.st_blocks * block_bytes};
    if (disk_ > bounds_.disk_max) return too_large("of disk space", bounds_.disk_max);
    if (S_ISREG(facts.st_mode) && ByteSize{facts.st_size} > bounds_.length_max - length_) {
      return too_large("in files, with the holes in them", bounds_.length_max);
    }
    if (S_ISREG(facts.st_mode)) length_ += ByteSize{facts.st_size};
    if (++entries_ <= bounds_.entries_max) return {};
    return fail(Errc::invalid, "it has more than " + std::to_string(bounds_.entries_max) + " files and folders");
  }

 private:
  static Failure too_large(const std::string& what, ByteSize most) {
    return fail(Errc::invalid, "it takes more than " + to_string(most) + " " + what);
  }

  const TreeBounds& bounds_;
  ByteSize disk_{0};
  ByteSize length_{0};
  std::int64_t entries_ = 0;
};

Result<void> copy_file(const File& from_folder, const File& to_folder, const FoundEntry& entry) {
  TRY_ASSIGN(from, from_folder.open_entry(entry.name, O_RDONLY | O_NONBLOCK));
  TRY_ASSIGN(size, from.size());
  if (!from.is_plain() || size > entry.facts.st_size) {
    return fail(Errc::denied, from.path() + " was replaced while it was copied");
  }
  TRY_ASSIGN(to, to_folder.open_entry(entry.name, O_WRONLY | O_CREAT | O_EXCL));
  TRY(copy_content(from, to, size));
  if (fchmod(to.fd(), entry.facts.st_mode & 01777) != 0) return system_failure(to.path());
  return {};
}

Result<void> copy_link(const File& from, const File& to, const std::string& name) {
  std::array<char, PATH_MAX> target;
  const ssize_t size = readlinkat(from.fd(), name.c_str(), target.data(), target.size() - 1);
  if (size < 0) return system_failure(from.path() + "/" + name);
  target[static_cast<std::size_t>(size)] = '\0';
  if (symlinkat(target.data(), to.fd(), name.c_str()) != 0) return system_failure(to.path() + "/" + name);
  return {};
}

Result<void> copy_folder(const File& from, const File& to, Measure& measure, int level) {
  TRY(measure.enter(level));
  return for_each_entry(from, [&](const FoundEntry& entry) -> Result<void> {
    TRY(measure.add(entry.facts));
    if (S_ISLNK(entry.facts.st_mode)) return copy_link(from, to, entry.name);
    if (S_ISREG(entry.facts.st_mode)) return copy_file(from, to, entry);
    if (!S_ISDIR(entry.facts.st_mode)) return {};
    TRY_ASSIGN(inner, from.open_entry(entry.name, folder_flags));
    if (mkdirat(to.fd(), entry.name.c_str(), 0700) != 0) return system_failure(to.path() + "/" + entry.name);
    TRY_ASSIGN(copy, to.open_entry(entry.name, folder_flags));
    TRY(copy_folder(inner, copy, measure, level + 1));
    if (fchmod(copy.fd(), entry.facts.st_mode & 01777) != 0) return system_failure(copy.path());
    return {};
  });
}

Result<void> measure_folder(const File& folder, Measure& measure, int level) {
  TRY(measure.enter(level));
  return for_each_entry(folder, [&](const FoundEntry& entry) -> Result<void> {
    TRY(measure.add(entry.facts));
    if (!S_ISDIR(entry.facts.st_mode)) return {};
    TRY_ASSIGN(inner, folder.open_entry(entry.name, folder_flags));
    return measure_folder(inner, measure, level + 1);
  });
}

}  // namespace

Result<void> copy_tree(const std::string& from, const std::string& to, const TreeBounds& bounds) {
  TRY(make_folder(to));
  std::error_code error;
  if (!fs::is_empty(to, error) || error) return fail(Errc::conflict, to + " is not empty");
  TRY_ASSIGN(from_folder, File::open(from, O_RDONLY | O_DIRECTORY));
  TRY_ASSIGN(to_folder, File::open(to, O_RDONLY | O_DIRECTORY));
  Measure measure(bounds);
  return copy_folder(from_folder, to_folder, measure, 1);
}

Result<ByteSize> size_of_tree(const std::string& folder, const TreeBounds& bounds) {
  Measure measure(bounds);
  TRY_ASSIGN(opened, File::open(folder, O_RDONLY | O_DIRECTORY));
  TRY(measure_folder(opened, measure, 1));
  return measure.disk();
}

}  // namespace cadre::objects
