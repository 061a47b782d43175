/// Makes of news what a watch is told: each change once, in order for each key, whatever of it is heard twice or in one
/// piece. A core; one thread at a time.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "names/entry.h"

namespace cadre::names {

struct Change {
  enum class Kind : std::uint8_t {
    put,   ///< new, or another value, or another owner
    gone,  ///< with what it was last
  };
  Kind kind = Kind::put;
  Entry entry;
  bool operator==(const Change&) const = default;
};

class Follower {
 public:
  [[nodiscard]] std::vector<Change> take(News news);

 private:
  std::map<std::string, Entry> known_;
};

}  // namespace cadre::names
