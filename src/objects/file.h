/// An open file or folder, errors as values. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/bytes.h"
#include "base/result.h"

namespace cadre::objects {

constexpr std::size_t copy_bytes = std::size_t{256} << 10;  // moved at a time

/// The error of a system call, with what it was about. No space is `unavailable`: it may help to repeat it.
[[nodiscard]] Failure system_failure(std::string_view path, int error_number);

class File {
 public:
  File() = default;
  File(File&& other) noexcept : fd_(std::exchange(other.fd_, -1)), path_(std::move(other.path_)) {}
  File& operator=(File&& other) noexcept;
  ~File();

  /// `flags` as in open(2); a new file is for its owner only.
  [[nodiscard]] static Result<File> open(std::string path, int flags);
  /// An entry of this folder, never through a link. `name` has no slash.
  [[nodiscard]] Result<File> open_entry(const std::string& name, int flags) const;

  int fd() const { return fd_; }
  const std::string& path() const { return path_; }

  [[nodiscard]] Result<std::int64_t> size() const;
  /// The next bytes, as many as fit if there are so many.
  [[nodiscard]] Result<std::size_t> read(std::span<std::byte> into);
  [[nodiscard]] Result<std::size_t> read_at(std::int64_t position, std::span<std::byte> into) const;
  /// All of it or an error.
  [[nodiscard]] Result<void> write(BytesView bytes);
  [[nodiscard]] Result<void> truncate(std::int64_t size_bytes);
  [[nodiscard]] Result<void> sync();

 private:
  File(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}

  int fd_ = -1;
  std::string path_;
};

/// Makes a folder for its owner only, and those above it, where they are missing.
[[nodiscard]] Result<void> make_folder(const std::string& folder);
/// Makes what was created, renamed or removed in a folder durable.
[[nodiscard]] Result<void> sync_folder(const std::string& folder);
/// Removes a file or a folder with all that is in it, if it is there.
[[nodiscard]] Result<void> remove_all(const std::string& path);

}  // namespace cadre::objects
