/// The content of an object on its way into a store: its last bytes are given out only when the whole has the size and
/// the hash that were announced. A store that commits after the last byte therefore never commits anything else.
/// Blocks; one thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "objects/bytes_io.h"
#include "objects/digest.h"
#include "objects/hash.h"

namespace cadre::objects {

class CheckedSource {
 public:
  CheckedSource(std::string key, Digest digest, ByteSource& source);

  /// Checks an empty object, of which nothing is ever read.
  [[nodiscard]] Result<void> begin();

  const Digest& digest() const { return digest_; }
  std::int64_t left() const { return left_; }

  /// Fills `into`, or the first bytes of it if only so many are left; gives how many. `corrupt` when the content ends
  /// too early or too late or has another hash. The same error again once it has failed.
  [[nodiscard]] Result<std::size_t> read(std::span<std::byte> into);

  /// Begins again; false when the source cannot, or was wrong.
  [[nodiscard]] bool rewind();

 private:
  Result<std::size_t> read_next(std::span<std::byte> into);
  Result<void> check_end();
  Failure corrupt(const std::string& why) const;

  const std::string key_;
  const Digest digest_;
  ByteSource& source_;
  std::int64_t left_;
  Sha256 sum_;
  std::optional<Error> failed_;
};

}  // namespace cadre::objects
