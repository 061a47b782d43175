/// An open file and the folder listings that logs need, errors as values. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace cadre::logs {

/// The error of the last system call, with what it was about. No space is `unavailable`: it may help to repeat it.
[[nodiscard]] Failure system_failure(std::string_view path, int error_number);

class File {
 public:
  File() = default;
  File(File&& other) noexcept : fd_(std::exchange(other.fd_, -1)), path_(std::move(other.path_)) {}
  File& operator=(File&& other) noexcept;
  ~File() { close(); }

  /// `flags` as in open(2); a new file is for its owner only.
  [[nodiscard]] static Result<File> open(std::string path, int flags);

  bool is_open() const { return fd_ >= 0; }
  int fd() const { return fd_; }
  const std::string& path() const { return path_; }
  void close();

  [[nodiscard]] Result<std::int64_t> size() const;
  /// As many bytes as there are from `position`, at most as many as fit.
  [[nodiscard]] Result<std::size_t> read_at(std::int64_t position, std::span<std::byte> into) const;
  /// Writes at the end (the file was opened with O_APPEND). On an error `written` says how many bytes got there.
  [[nodiscard]] Result<void> append(BytesView bytes, std::size_t& written);
  [[nodiscard]] Result<void> truncate(std::int64_t size_bytes);
  [[nodiscard]] Result<void> sync();

 private:
  File(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}

  int fd_ = -1;
  std::string path_;
};

/// The numbers n of all files NNNNNNNNNNNN`suffix` in a folder, ascending; none when there is no such folder.
[[nodiscard]] Result<std::vector<std::int64_t>> numbered_files(const std::string& folder, std::string_view suffix);
std::string numbered_path(const std::string& folder, std::int64_t number, std::string_view suffix);

/// Makes a folder, and those above it, where they are missing.
[[nodiscard]] Result<void> make_folder(const std::string& folder);
/// Makes what was created, renamed or removed in a folder durable.
[[nodiscard]] Result<void> sync_folder(const std::string& folder);

}  // namespace cadre::logs
