/// Which operation a method and a path mean. One thread at a time.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/arguments.h"
#include "net/http/message.h"

namespace cadre::gateway {

/// What is meant is a number that was given with the pattern.
class RouteTable {
 public:
  /// A pattern is like /api/v1/jobs/{job}; where a name and a word would do, the word counts.
  void add(std::string_view method, std::string_view pattern, std::size_t meaning);

  struct Match {
    std::size_t meaning = 0;
    PathNames names;
  };
  struct Outcome {
    std::optional<Match> match;
    std::string allowed;     ///< other methods that this path has: `GET, DELETE`
    bool is_faulty = false;  ///< an escape in the path is none
  };
  [[nodiscard]] Outcome find(net::http::Method method, std::string_view path) const;

 private:
  struct Entry {
    net::http::Method method;
    std::vector<std::string> segments;  ///< a name begins with {
    std::size_t meaning;
  };
  std::vector<std::vector<Entry>> by_length_;  ///< by the count of segments; those with more words first
};

}  // namespace cadre::gateway
