/// Open files, and what is done with whole files and folders; errors as values. One thread at a time for each file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/bytes.h"
#include "base/result.h"
#include "loop/descriptor.h"

namespace cadre::loop {

constexpr std::size_t copy_bytes = std::size_t{256} << 10;  // to move at a time

/// Or a folder.
class File {
 public:
  File() = default;

  /// `flags` as in open(2); a new file is for its owner only.
  [[nodiscard]] static Result<File> open(std::string path, int flags);
  /// An entry of this folder, never through a link. `name` has no slash.
  [[nodiscard]] Result<File> open_entry(const std::string& name, int flags) const;

  bool is_open() const { return static_cast<bool>(fd_); }
  int fd() const { return fd_.get(); }
  const std::string& path() const { return path_; }
  void close() { fd_.close(); }

  [[nodiscard]] Result<std::int64_t> size() const;
  /// Neither a folder nor a pipe, a device or the like.
  [[nodiscard]] bool is_plain() const;
  /// The next bytes, as many as fit if there are so many.
  [[nodiscard]] Result<std::size_t> read(std::span<std::byte> into);
  /// The same from `position`.
  [[nodiscard]] Result<std::size_t> read_at(std::int64_t position, std::span<std::byte> into) const;
  /// All of it or an error.
  [[nodiscard]] Result<void> write(BytesView bytes);
  /// The same; on an error `written` says how many bytes got there.
  [[nodiscard]] Result<void> write(BytesView bytes, std::size_t& written);
  [[nodiscard]] Result<void> truncate(std::int64_t size_bytes);
  /// Makes what was written durable.
  [[nodiscard]] Result<void> sync();
  /// Closes it: all who open it from now on, over NFS too, see what was written. Says if that cannot be.
  [[nodiscard]] Result<void> finish();

 private:
  File(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}

  Descriptor fd_;
  std::string path_;
};

/// The whole of a small file; a megabyte at most.
[[nodiscard]] Result<std::string> read_file(const std::string& path);
/// Whoever reads it sees all of it or nothing.
[[nodiscard]] Result<void> write_whole(const std::string& path, BytesView bytes);

/// Makes a folder for its owner only, and those above it, where they are missing.
[[nodiscard]] Result<void> make_folder(const std::string& folder);
/// Makes what was created, renamed or removed in a folder durable.
[[nodiscard]] Result<void> sync_folder(const std::string& folder);
/// Removes a file or a folder with all that is in it, if it is there.
[[nodiscard]] Result<void> remove_all(const std::string& path);

}  // namespace cadre::loop
