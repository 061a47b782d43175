#include "supervisor/descriptor.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace cadre::supervisor {

namespace {

constexpr std::size_t file_bytes_max = std::size_t{1} << 20;

Result<void> write_all(int fd, BytesView bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return system_failure(path);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return {};
}

}  // namespace

void Descriptor::close() {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

Error system_error(std::string_view what, int error_number) {
  Errc code = Errc::unavailable;
  if (error_number == ENOENT) code = Errc::not_found;
  if (error_number == EACCES || error_number == EPERM) code = Errc::denied;
  return {code, std::string(what) + ": " + std::strerror(error_number)};
}

Failure system_failure(std::string_view what) { return Failure(system_error(what, errno)); }

Result<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return system_failure("pipe");
  return Pipe{Descriptor(ends[0]), Descriptor(ends[1])};
}

void set_nonblocking(int fd) { ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK); }

Result<std::string> read_file(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return system_failure(path);
  std::string text;
  std::array<char, 4096> piece;
  while (text.size() < file_bytes_max) {
    const ssize_t got = ::read(file.get(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_failure(path);
    if (got == 0) return text;
    text.append(piece.data(), static_cast<std::size_t>(got));
  }
  return fail(Errc::invalid, path + ": larger than a megabyte");
}

Result<void> write_existing(const std::string& path, std::string_view text) {
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file) return system_failure(path);
  return write_all(file.get(), as_bytes(text), path);
}

Result<void> write_whole(const std::string& path, BytesView bytes) {
  const std::string draft = path + ".new";
  const Descriptor file(::open(draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!file) return system_failure(draft);
  TRY(write_all(file.get(), bytes, draft));
  if (::rename(draft.c_str(), path.c_str()) != 0) return system_failure(path);
  return {};
}

void close_all_but(int kept) {
  if (kept > 3) ::close_range(3, static_cast<unsigned>(kept) - 1, 0);
  ::close_range(static_cast<unsigned>(kept < 3 ? 3 : kept + 1), ~0U, 0);
}

}  // namespace cadre::supervisor
