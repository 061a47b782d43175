/// The files of a checkpoint in a folder. Safe on any thread; all functions block.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "experiment/rows.h"
#include "loop/file.h"
#include "objects/hash.h"

namespace cadre::client {

using experiment::CheckpointFile;

/// All files below a folder, sorted by name, with sizes and hashes. Links to files count as files. `invalid`: the
/// folder contains something else, or is no folder.
[[nodiscard]] Result<std::vector<CheckpointFile>> list_files(const std::string& folder);

/// Whether a name may be that of a file in a checkpoint: a relative path without empty parts, `.` and `..`.
[[nodiscard]] Result<void> check_file_name(std::string_view name);

/// What one rank wants to save.
struct Share {
  std::uint32_t rank = 0;
  std::vector<CheckpointFile> files;
};
/// The files of all ranks together, sorted by name. `conflict`: two ranks have different files of one name; it names
/// both.
[[nodiscard]] Result<std::vector<CheckpointFile>> merge_shares(const std::vector<Share>& shares);
/// Those files that a rank has to bring, because no lower rank has the same.
[[nodiscard]] std::vector<CheckpointFile> own_files(const std::vector<Share>& shares, std::uint32_t rank);

/// One file on its way into a folder: it appears there when it is whole and its hash is correct. One thread at a time.
class IncomingFile {
 public:
  [[nodiscard]] static Result<IncomingFile> open(const std::string& folder, const CheckpointFile& file);
  IncomingFile(IncomingFile&& other) noexcept;
  IncomingFile& operator=(IncomingFile&&) = delete;
  ~IncomingFile();

  std::int64_t written() const { return written_; }
  bool is_whole() const { return written_ == file_.size; }
  /// The next bytes; `corrupt` if there are none, or too many.
  [[nodiscard]] Result<void> append(BytesView bytes);
  /// `corrupt`: the hash is wrong.
  [[nodiscard]] Result<void> finish();

 private:
  IncomingFile(CheckpointFile file, std::string path) : file_(std::move(file)), path_(std::move(path)) {}
  std::string draft() const;

  CheckpointFile file_;
  std::string path_;  ///< empty: it was moved from, or has appeared
  loop::File output_;
  objects::Sha256 sum_;
  std::int64_t written_ = 0;
};

/// Copies files from one folder to another and makes them durable.
[[nodiscard]] Result<void> copy_files(const std::string& from, const std::string& to,
                                      const std::vector<CheckpointFile>& files);
/// The same of files that nobody needs any more where they are; both folders are on one file system.
[[nodiscard]] Result<void> move_files(const std::string& from, const std::string& to,
                                      const std::vector<CheckpointFile>& files);

}  // namespace cadre::client
