/// Lists the files below a folder in the order of their paths, a page at a time, for stores that keep objects as files.
/// Pure but for the function that reads folders; one thread at a time.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "objects/store.h"

namespace cadre::objects {

struct FolderEntry {
  std::string name;
  bool is_folder = false;
  std::int64_t size = -1;  ///< of a file, in bytes; negative: it is no object

  /// By which entries are in the order of the paths below them.
  std::string sort_name() const { return is_folder ? name + "/" : name; }
};

/// Which entries of a folder are wanted: those that pass, and of these the first ones by their sort_name().
struct FolderQuestion {
  std::string folder;                                        ///< a path such as `a/b`; empty: the whole
  std::function<bool(const std::string& sort_name)> passes;  ///< safe to call for any
  std::size_t most = 0;
};
/// In ascending order; none when there is no such folder.
using ReadFolder = std::function<Result<std::vector<FolderEntry>>(const FolderQuestion& question)>;

[[nodiscard]] Result<ObjectPage> walk_folders(const std::string& prefix, const std::string& after, std::size_t limit,
                                              const ReadFolder& read);

/// Collects the entries that are wanted, from any number in any order; holds few more than these.
class FirstEntries {
 public:
  explicit FirstEntries(const FolderQuestion& question) : question_(question) {}
  void add(FolderEntry entry);
  [[nodiscard]] std::vector<FolderEntry> take();

 private:
  void cut();

  const FolderQuestion& question_;
  std::vector<FolderEntry> entries_;
};

}  // namespace cadre::objects
