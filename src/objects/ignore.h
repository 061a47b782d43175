/// Which files of a directory are left out, by rules written as in .gitignore. A value; safe on any thread.
///
/// One rule a line; # begins a comment. A rule with a slash before its end counts from the top, another one at every
/// depth. `*` and `?` stop at slashes, `**` as a whole name is any number of folders, [a-z] are ranges. A slash at the
/// end means folders only; `!` takes back. The last rule that matches decides; what lies in a folder that is left out
/// is left out with it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cadre::objects {

class Ignore {
 public:
  enum class Kind : std::uint8_t { file, folder };

  Ignore() = default;
  explicit Ignore(std::string_view text);

  /// `path` from the top, its names joined by slashes. Asks only about this entry, not about the folders it is in.
  bool leaves_out(std::string_view path, Kind kind) const;

 private:
  struct Rule {
    std::vector<std::string> names;  ///< patterns, one for each name of a path
    bool folders_only = false;
    bool takes_back = false;
  };
  static bool matches(const Rule& rule, const std::vector<std::string>& path);

  std::vector<Rule> rules_;
};

}  // namespace cadre::objects
