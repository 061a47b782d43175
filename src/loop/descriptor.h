/// File descriptors that close themselves, and the errors of system calls as values. Any thread.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace cadre::loop {

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

/// Part of the message when a disk, or the quota on it, is exhausted.
constexpr std::string_view disk_full_words = "the disk is full";

/// `what: No such file or directory`, for the given error number. No space and too many open files are `unavailable`:
/// it may help to repeat it.
[[nodiscard]] Error system_error(std::string_view what, int error_number);
/// The same for the system call that has just failed.
[[nodiscard]] Failure system_failure(std::string_view what);

}  // namespace cadre::loop
