/// Open files, and what is done with whole files and folders; errors as values. One thread at a time for each file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
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
  /// A file that must be a plain one of this user, never a link, a pipe or a device that somebody has put in its place:
  /// opening it does not wait.
  [[nodiscard]] static Result<File> open_own(std::string path, int flags);
  /// An empty file for writing. One that is there is used again if only this user can reach it, which costs less than a
  /// new one; anything else is replaced, and neither followed nor waited for.
  [[nodiscard]] static Result<File> open_draft(std::string path);
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
/// The same of a file that others could have replaced: see File::open_own.
[[nodiscard]] Result<std::string> read_own_file(const std::string& path);

enum class Durable : bool {
  no,   ///< after a power loss it may be the old content, the new one, or torn
  yes,  ///< when the call returns it survives a power loss; during the call there is the old or the new content
};
/// Replaces the content of a file: readers see the old or the new content. The one way to write what is read again
/// after a restart; the content stands in PATH.new until then.
[[nodiscard]] Result<void> write_whole(const std::string& path, BytesView bytes, Durable durable = Durable::yes);
/// Makes a file that write_whole has replaced survive a power loss from now on.
[[nodiscard]] Result<void> make_durable(const std::string& path);
/// Whether an error says that the disk, or the quota on it, is exhausted.
[[nodiscard]] bool is_disk_full(const Error& error);

/// What is done to files here, in order: for tests that ask what a power loss would leave.
struct FileOperation {
  enum class Kind : std::uint8_t { create, write, truncate, sync, rename, unlink, make_folder, sync_folder };
  Kind kind = Kind::write;
  std::string path;
  std::string to;         ///< of a rename
  Bytes bytes;            ///< that were appended
  std::int64_t size = 0;  ///< after a truncate
};
/// Calls this at each operation of this thread that succeeded, until it is called with nothing. For tests.
void observe_files(std::function<void(const FileOperation&)> observer);

/// Makes a folder for its owner only, and those above it, where they are missing.
[[nodiscard]] Result<void> make_folder(const std::string& folder);
[[nodiscard]] Result<void> rename_file(const std::string& from, const std::string& to);
/// Removes the name of a file; whether it was there. Nothing else can be done where that fails.
bool unlink_file(const std::string& path);
/// Makes what was created, renamed or removed in a folder durable.
[[nodiscard]] Result<void> sync_folder(const std::string& folder);
/// Removes a file or a folder with all that is in it, if it is there: also folders that their owner may not write.
/// Needs few descriptors and little memory, however deep folders are nested.
[[nodiscard]] Result<void> remove_all(const std::string& path);
/// Removes all that is in a folder, in the same way; the folder itself is then for its owner only.
[[nodiscard]] Result<void> empty_folder(const std::string& folder);

}  // namespace cadre::loop
