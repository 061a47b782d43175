/// A directory as one file, and back. The same tree gives the same bytes on every machine, so that the SHA-256 of the
/// file names the tree: names are sorted, and owners, times and all permissions but "may be run" are left out. Safe on
/// any thread; both functions block.
///
/// The file is a line, `cadre pack 1`, and the entries of the directory, each with a header, little endian:
///   u8 kind   u8 bytes of the name   i64 bytes of the content   the name   the content
/// An entry of kind folder is followed by what is in it, in ascending order, and an entry of kind end. The directory
/// itself has no entry but its end. A name is a single one, without slashes: nothing can lie outside the directory.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace cadre::objects {

struct PackOptions {
  enum class Rules : std::uint8_t {
    /// What the file .cadreignore at the top says (objects/ignore.h), .git, and unless it takes them back the folders
    /// cadre-runs and __pycache__.
    cadreignore,
    none,
  };
  Rules rules = Rules::cadreignore;
  ByteSize bytes_max{std::int64_t{1} << 30};
  std::int64_t entries_max = 100'000;
  std::function<bool(const std::string& path)> is_private = {};  ///< folders that are left out, whatever the rules say
};

struct Packed {
  std::string hash;
  ByteSize size;  ///< of the file
  std::int64_t entries = 0;
  std::vector<std::string> skipped;          ///< sockets, pipes and devices; the first few
  std::vector<std::string> private_folders;  ///< that were left out
};

/// Writes `file`, which must not lie in the folder. Invalid when the folder is over a bound, with what is largest in
/// it; on an error there is no file.
[[nodiscard]] Result<Packed> pack(const std::string& folder, const std::string& file, const PackOptions& options);

struct UnpackOptions {
  ByteSize bytes_max{std::int64_t{8} << 30};
  std::int64_t entries_max = 1'000'000;
};

/// Makes `folder`, which must be empty or not there yet; it has all or nothing. Corrupt when the file is not what
/// pack() writes. The disk may have it later: a crash of the host can spoil it.
[[nodiscard]] Result<void> unpack(const std::string& file, const std::string& folder, const UnpackOptions& options);

}  // namespace cadre::objects
