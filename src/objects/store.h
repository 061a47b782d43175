/// Immutable objects under keys, in a place that many processes share: checkpoints and other large files. Every
/// function blocks, and may be called from any number of threads at a time; sources and sinks are called on the
/// caller's thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "objects/bytes_io.h"
#include "objects/checked_source.h"
#include "objects/digest.h"
#include "objects/store_config.h"

namespace cadre::objects {

class Presigner;

/// How long a store tries. Everything ends: an operation makes at most so many attempts in a row that achieve nothing.
struct StoreOptions {
  std::int32_t attempts_max = 6;
  Duration backoff_first = std::chrono::milliseconds(200);  ///< before the second attempt, twice as long each time
  Duration backoff_max = std::chrono::seconds(5);
  std::size_t sessions_max = 16;  ///< connections at a time; further threads wait for them
};

struct ListedObject {
  std::string key;
  std::int64_t size = 0;  ///< bytes
  bool operator==(const ListedObject&) const = default;
};

struct ObjectPage {
  std::vector<ListedObject> objects;  ///< in ascending order of the bytes of their keys
  std::string next;                   ///< the cursor of the next page; empty: this is the last one
};

/// Errors: `invalid` for keys, sizes and settings that cannot be, `not_found`, `conflict`, `denied` for a wrong key or
/// a missing permission, `corrupt` for content that is not what it must be, `unavailable` when the place is full or
/// cannot be reached, `timed_out` when it does not respond. Messages name the place and never a secret.
///
/// A key is an object or a folder of others, not both: some stores refuse the second.
class Store {
 public:
  static constexpr std::int32_t page_max = 1'000;

  Store() = default;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  virtual ~Store() = default;

  /// Stores what the source gives, which must have this size and hash: the object exists once it is whole and right,
  /// and nothing of it is seen before. An object with the same content is left as it is, without reading the source;
  /// another content is a `conflict`. After an error the object may exist only if its code is `timed_out`; it may be
  /// repeated.
  [[nodiscard]] Result<void> put(const std::string& key, const Digest& digest, ByteSource& source);

  [[nodiscard]] Result<Digest> stat(const std::string& key);

  /// Gives the whole object to the sink. Only when this returns without an error the bytes were right; `corrupt` when
  /// they are not what was put.
  [[nodiscard]] Result<Digest> get(const std::string& key, const ByteSink& sink);

  /// Gives the bytes from `offset` on to the sink, at most `bytes_max`; the end of the object ends them. A part of an
  /// object has no hash of its own, so only its size is checked. Invalid when the object ends before `offset`.
  [[nodiscard]] Result<Digest> get_range(const std::string& key, std::int64_t offset, std::int64_t bytes_max,
                                         const ByteSink& sink);

  /// A page of the objects whose keys begin with the prefix and come after the cursor; empty cursor: the first page.
  /// At most `limit` of them, which is at most page_max. Objects that exist during the whole listing are in it once.
  [[nodiscard]] Result<ObjectPage> list(const std::string& prefix, const std::string& after = "",
                                        std::int32_t limit = page_max);

  /// Removes the object, if there is one.
  [[nodiscard]] Result<void> remove(const std::string& key);

  /// Removes what unfinished uploads have left and nobody has continued for an hour (S3 and HDFS: a day). put() calls
  /// it now and then.
  [[nodiscard]] Result<void> clean() { return clean_up(); }

  /// For a store to which clients can speak themselves, with URLs that are signed for them; null: it is not one.
  virtual Presigner* presigner() { return nullptr; }

 private:
  // What a kind of store does; arguments are checked. Of the same key several threads may do several of them at a time.
  virtual std::int64_t object_bytes_max() const = 0;
  virtual Result<Digest> find(const std::string& key) = 0;
  /// Reads the content to its end, then makes the object appear; `conflict` when another one has appeared meanwhile,
  /// but no error when it is the same.
  virtual Result<void> write(const std::string& key, CheckedSource& content) = 0;
  /// `range` lies within the object and is not empty.
  virtual Result<void> fetch(const std::string& key, const Digest& digest, ByteRange range, const ByteSink& sink) = 0;
  virtual Result<ObjectPage> list_page(const std::string& prefix, const std::string& after, std::size_t limit) = 0;
  virtual Result<void> erase(const std::string& key) = 0;
  virtual Result<void> clean_up() = 0;

  Result<void> fetch_exactly(const std::string& key, const Digest& digest, ByteRange range, const ByteSink& sink);
  void clean_now_and_then();

  std::atomic<Duration::rep> clean_after_{std::numeric_limits<Duration::rep>::min()};
};

/// Whether the object that is there is the one that was to be put: else a `conflict`, in words.
[[nodiscard]] Result<void> check_same(const std::string& key, const Digest& there, const Digest& wanted);

/// Nothing is asked of a server yet.
[[nodiscard]] Result<std::unique_ptr<Store>> open(const StoreConfig& config, const StoreOptions& options = {});

/// Removes all objects of a folder, whose name ends with a slash; how many there were.
[[nodiscard]] Result<std::int64_t> remove_folder(Store& store, const std::string& folder);

/// Stores a file, which is read twice.
[[nodiscard]] Result<Digest> put_file(Store& store, const std::string& key, const std::string& path);
/// Writes an object to a file, which appears, or is replaced, once it is whole and right; in between there is a file
/// PATH.part.
[[nodiscard]] Result<Digest> get_file(Store& store, const std::string& key, const std::string& path);

}  // namespace cadre::objects
