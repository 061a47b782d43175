/// Numbers of unix users for users of the cluster who have no account on this host. Kept in a file, so that a number
/// never belongs to two users, whatever becomes of the agent. Blocks on files; one thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/result.h"

namespace cadre::agent {

/// Both ends belong to it.
struct UidRange {
  std::int64_t first = 200'000;
  std::int64_t last = 265'535;
};

/// Reads `200000-265535`.
[[nodiscard]] Result<UidRange> parse_uid_range(const std::string& text);

class UidTable {
 public:
  /// The file has a line `number user` for each user.
  [[nodiscard]] static Result<UidTable> open(std::string path, UidRange range);

  /// The same number for the same user for ever. A new one is on disk before it is given.
  [[nodiscard]] Result<std::int64_t> uid_of(const std::string& user);

 private:
  UidTable(std::string path, UidRange range) : path_(std::move(path)), range_(range) {}

  std::string path_;
  UidRange range_;
  std::map<std::string, std::int64_t> uids_;
  std::int64_t next_ = 0;
};

}  // namespace cadre::agent
