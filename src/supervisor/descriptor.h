/// File descriptors that close themselves, and the few system calls around them, errors as values. Any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "base/bytes.h"
#include "base/result.h"

namespace cadre::supervisor {

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() { close(); }

  [[nodiscard]] int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  int release() { return std::exchange(fd_, -1); }
  void close();

 private:
  int fd_ = -1;
};

struct Pipe {
  Descriptor read;
  Descriptor write;
};

/// `what: No such file or directory`, for the given error number. No space and too many open files are `unavailable`.
[[nodiscard]] Error system_error(std::string_view what, int error_number);
/// The same for the system call that has just failed.
[[nodiscard]] Failure system_failure(std::string_view what);

/// Closed in programs that are started.
[[nodiscard]] Result<Pipe> make_pipe();
void set_nonblocking(int fd);

/// The whole of a small file; a megabyte at most.
[[nodiscard]] Result<std::string> read_file(const std::string& path);
/// Writes into a file that is there already: those of the kernel.
[[nodiscard]] Result<void> write_existing(const std::string& path, std::string_view text);
/// Whoever reads it sees all of it or nothing.
[[nodiscard]] Result<void> write_whole(const std::string& path, BytesView bytes);

/// Closes every descriptor but 0, 1, 2 and one other.
void close_all_but(int kept);

}  // namespace cadre::supervisor
