/// Objects by their SHA-256 as files in one folder. They come in parts, in order, and count only once they are whole
/// and right. One thread at a time.
///
/// An object is a file named by its hash; one that is not whole yet is HASH.part. A crash at any time leaves either,
/// and a part is continued where it ends. Beyond the bound, what was used longest ago goes, unless it is complete and
/// somebody keeps it. So do parts: when there are too many, and after an hour without a byte as soon as another one
/// begins. An upload whose part is gone begins again.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/bytes.h"
#include "base/result.h"
#include "objects/hash.h"

namespace cadre::objects {

struct FileStoreOptions {
  std::string folder;
  ByteSize bytes_max{std::int64_t{16} << 30};
  ByteSize object_bytes_max{std::int64_t{1} << 30};
  std::size_t parts_max = 256;  ///< objects that are not whole yet
};

class FileStore {
 public:
  struct State {
    std::int64_t have = 0;  ///< bytes, from the beginning on
    bool complete = false;
    bool operator==(const State&) const = default;
  };
  struct Part {
    std::int64_t size = 0;  ///< of the whole object
    std::int64_t offset = 0;
    BytesView bytes;
    std::string_view user = {};  ///< who sends it; the user with the most parts makes room for another one
  };

  /// Makes the folder when it is missing. `conflict` when another process has it open.
  [[nodiscard]] static Result<std::unique_ptr<FileStore>> open(FileStoreOptions options);
  FileStore(const FileStore&) = delete;
  FileStore& operator=(const FileStore&) = delete;
  ~FileStore();

  State have(std::string_view hash) const;

  /// Takes the next part. Parts of what is there already change nothing; one that begins anywhere but where the object
  /// ends so far is a `conflict`. With its last byte the object is durable and complete, or `corrupt` and gone, all of
  /// it. Invalid when it is over object_bytes_max; unavailable when there is no space, and then nothing was taken.
  [[nodiscard]] Result<State> append(const std::string& hash, const Part& part);

  /// At most bytes_max bytes of a complete object.
  [[nodiscard]] Result<Bytes> read(const std::string& hash, std::int64_t offset, std::size_t bytes_max);
  /// The file of a complete object. Not to be written.
  [[nodiscard]] Result<std::string> path(const std::string& hash);

  /// What is kept does not go, once it is complete, until it is released as often. A part may go nevertheless: anybody
  /// can begin one under any hash.
  void keep(const std::string& hash);
  void release(const std::string& hash);
  /// Removes an object or a part of one, kept or not.
  void remove(const std::string& hash);

  /// Whole blocks of the disk, at least one for each object.
  ByteSize size() const { return {bytes_}; }

 private:
  struct Object {
    State state;
    std::optional<Sha256> sum;  ///< of what is there of a part, if it was all taken by this process
    std::int64_t unsynced = 0;  ///< bytes of a part
    std::string user;           ///< who sent the last bytes of a part; empty: not known
    std::list<std::string>::iterator used;
    std::list<std::string>::iterator part;  ///< if it is not complete
  };
  using Objects = std::unordered_map<std::string, Object>;

  explicit FileStore(FileStoreOptions options) : options_(std::move(options)) {}
  Result<void> load();
  Objects::iterator put(const std::string& hash, State state);
  void touch(Objects::iterator object);
  void erase(Objects::iterator object);
  bool is_safe(const std::string& hash) const;
  void make_room(std::int64_t bytes, std::string_view but);
  /// Makes room among the parts for one that this user begins.
  void make_room_for_part(std::string_view user);
  void drop_old_parts(const std::string& newest);
  void grow(Objects::iterator object, std::int64_t bytes);
  Result<void> write(Objects::iterator object, const Part& part);
  Result<void> sum_up(Objects::iterator object);
  Result<void> finish(Objects::iterator object);
  std::string path_of(const std::string& hash) const { return options_.folder + "/" + hash; }
  std::string part_path_of(const std::string& hash) const { return path_of(hash) + ".part"; }

  FileStoreOptions options_;
  int lock_ = -1;
  Objects objects_;
  std::list<std::string> used_;   ///< the hashes, the one used last behind
  std::list<std::string> parts_;  ///< the same of those that are not complete
  std::map<std::string, int, std::less<>> kept_;
  std::int64_t bytes_ = 0;
};

}  // namespace cadre::objects
