/// Numbers of unix users for users of the cluster who have no account on this host. Kept in a file, so that a number
/// never belongs to two users, whatever becomes of the agent. Blocks on files; one thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "agent/process/uid_claims.h"
#include "base/result.h"

namespace cadre::agent {

/// Both ends belong to it. By default numbers that nothing else gives away: shadow's subordinate ids end at 600100000,
/// systemd's containers at 1879048191, SSSD's mapped accounts at 2000200000; systemd's foreign ids begin at 2147352576.
struct UidRange {
  std::int64_t first = 2'100'000'000;
  std::int64_t last = 2'100'065'535;
};

/// Reads `2100000000-2100065535`, as to_text() writes it.
[[nodiscard]] Result<UidRange> parse_uid_range(const std::string& text);
[[nodiscard]] std::string to_text(const UidRange& range);

/// Denied, in words, when some of the numbers belong to an account or a group of this host, or are subordinate ids of
/// one: its owner could become the user of a task. `etc` is for tests.
[[nodiscard]] Result<void> check_uid_range(const UidRange& range, const std::string& etc = "/etc");

class UidTable {
 public:
  /// The file has a line `number user` for each user.
  [[nodiscard]] static Result<UidTable> open(std::string path, UidRange range, UidClaims claims);

  /// The same number for the same user for ever, unless another agent of the host has claimed it: then the user gets
  /// a new one. A new one is on disk before it is given.
  [[nodiscard]] Result<std::int64_t> uid_of(const std::string& user);

 private:
  UidTable(std::string path, UidRange range, UidClaims claims)
      : path_(std::move(path)), range_(range), claims_(std::move(claims)) {}

  std::string path_;
  UidRange range_;
  UidClaims claims_;
  std::set<std::int64_t> claimed_;  ///< by this process
  std::map<std::string, std::int64_t> uids_;
  std::int64_t next_ = 0;
};

}  // namespace cadre::agent
