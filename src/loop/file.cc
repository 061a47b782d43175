#include "loop/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>

namespace cadre::loop {

namespace {

constexpr std::size_t small_file_max = std::size_t{1} << 20;

thread_local std::function<void(const FileOperation&)> observer;

using Kind = FileOperation::Kind;

void observed(Kind kind, const std::string& path, BytesView bytes = {}) {
  if (observer) observer({kind, path, "", Bytes(bytes.begin(), bytes.end()), 0});
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

Result<std::string> read_small(File file) {
  std::string text;
  std::array<std::byte, 4096> piece;
  while (text.size() <= small_file_max) {
    TRY_ASSIGN(size, file.read(piece));
    text.append(reinterpret_cast<const char*>(piece.data()), size);
    if (size < piece.size()) return text;
  }
  return fail(Errc::invalid, file.path() + ": larger than a megabyte");
}

}  // namespace

void observe_files(std::function<void(const FileOperation&)> fn) { observer = std::move(fn); }

bool is_disk_full(const Error& error) { return error.message.find(disk_full_words) != std::string::npos; }

Result<File> File::open(std::string path, int flags) {
  const int fd = ::open(path.c_str(), flags | O_CLOEXEC, 0600);
  if (fd < 0) return system_failure(path);
  if ((flags & O_CREAT) != 0) observed(Kind::create, path);
  return File(fd, std::move(path));
}

Result<File> File::open_own(std::string path, int flags) {
  TRY_ASSIGN(file, open(std::move(path), flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
  struct stat facts {};
  if (::fstat(file.fd(), &facts) != 0) return system_failure(file.path());
  if (!S_ISREG(facts.st_mode) || facts.st_uid != ::geteuid()) {
    return fail(Errc::denied, file.path() + ": not a regular file of this user; remove it");
  }
  return file;
}

Result<File> File::open_draft(std::string path) {
  Result<File> there = open(path, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
  struct stat facts {};
  if (there && ::fstat(there->fd(), &facts) == 0 && facts.st_mode == (S_IFREG | 0600) && facts.st_nlink == 1 &&
      facts.st_uid == ::geteuid()) {
    if (facts.st_size > 0) TRY(there->truncate(0));
    return there;
  }
  unlink_file(path);
  return open(std::move(path), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_NONBLOCK);
}

Result<File> File::open_entry(const std::string& name, int flags) const {
  std::string path = path_ + "/" + name;
  const int fd = ::openat(fd_.get(), name.c_str(), flags | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return system_failure(path);
  return File(fd, std::move(path));
}

Result<std::int64_t> File::size() const {
  struct stat facts {};
  if (::fstat(fd_.get(), &facts) != 0) return system_failure(path_);
  return facts.st_size;
}

bool File::is_plain() const {
  struct stat facts {};
  return ::fstat(fd_.get(), &facts) == 0 && S_ISREG(facts.st_mode);
}

Result<std::size_t> File::read(std::span<std::byte> into) {
  std::size_t done = 0;
  while (done < into.size()) {
    const ssize_t n = ::read(fd_.get(), into.data() + done, into.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return system_failure(path_);
    if (n == 0) break;
    done += static_cast<std::size_t>(n);
  }
  return done;
}

Result<std::size_t> File::read_at(std::int64_t position, std::span<std::byte> into) const {
  std::size_t done = 0;
  while (done < into.size()) {
    const off_t at = position + static_cast<std::int64_t>(done);
    const ssize_t n = ::pread(fd_.get(), into.data() + done, into.size() - done, at);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return system_failure(path_);
    if (n == 0) break;
    done += static_cast<std::size_t>(n);
  }
  return done;
}

Result<void> File::write(BytesView bytes) {
  std::size_t written = 0;
  return write(bytes, written);
}

Result<void> File::write(BytesView bytes, std::size_t& written) {
  written = 0;
  while (written < bytes.size()) {
    const ssize_t n = ::write(fd_.get(), bytes.data() + written, bytes.size() - written);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return system_failure(path_);
    observed(Kind::write, path_, bytes.subspan(written, static_cast<std::size_t>(n)));
    written += static_cast<std::size_t>(n);
  }
  return {};
}

Result<void> File::truncate(std::int64_t size_bytes) {
  if (::ftruncate(fd_.get(), size_bytes) != 0) return system_failure(path_);
  if (observer) observer({Kind::truncate, path_, "", {}, size_bytes});
  return {};
}

Result<void> File::sync() {
  if (::fdatasync(fd_.get()) != 0) return system_failure(path_);
  observed(Kind::sync, path_);
  return {};
}

Result<void> File::finish() {
  if (::close(fd_.release()) != 0) return system_failure(path_);
  return {};
}

Result<std::string> read_file(const std::string& path) {
  TRY_ASSIGN(file, File::open(path, O_RDONLY | O_NONBLOCK));  // it may be a pipe that nobody writes to
  return read_small(std::move(file));
}

Result<std::string> read_own_file(const std::string& path) {
  TRY_ASSIGN(file, File::open_own(path, O_RDONLY));
  return read_small(std::move(file));
}

Result<void> write_whole(const std::string& path, BytesView bytes, Durable durable) {
  // Always a new file: another writer of the same name may be stopped in the middle, and would go on in this one.
  const std::string name = path + ".new";
  unlink_file(name);
  TRY_ASSIGN(draft, File::open(name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_NONBLOCK));
  TRY(draft.write(bytes));
  if (durable == Durable::yes) TRY(draft.sync());
  TRY(rename_file(name, path));
  return durable == Durable::yes ? sync_folder(folder_of(path)) : Result<void>{};
}

Result<void> make_durable(const std::string& path) {
  TRY_ASSIGN(file, File::open_own(path, O_RDONLY));
  TRY(file.sync());
  return sync_folder(folder_of(path));
}

Result<void> rename_file(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) return system_failure(to);
  if (observer) observer({Kind::rename, from, to, {}, 0});
  return {};
}

bool unlink_file(const std::string& path) {
  if (::unlink(path.c_str()) != 0) return false;
  observed(Kind::unlink, path);
  return true;
}

Result<void> make_folder(const std::string& folder) {
  if (::mkdir(folder.c_str(), 0700) == 0) {
    observed(Kind::make_folder, folder);
    return {};
  }
  if (errno == EEXIST) return {};
  const std::size_t slash = folder.find_last_of('/');
  if (errno != ENOENT || slash == std::string::npos || slash == 0) return system_failure(folder);
  TRY(make_folder(folder.substr(0, slash)));
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) return system_failure(folder);
  observed(Kind::make_folder, folder);
  return {};
}

Result<void> sync_folder(const std::string& folder) {
  TRY_ASSIGN(opened, File::open(folder, O_RDONLY | O_DIRECTORY));
  if (::fsync(opened.fd()) != 0) return system_failure(folder);
  observed(Kind::sync_folder, folder);
  return {};
}

}  // namespace cadre::loop
