#include "objects/stores/folder_walk.h"

#include <algorithm>
#include <utility>

#include "objects/key.h"

namespace cadre::objects {

namespace {

/// Whether a path below the folder can come after `after`. `0` follows `/`.
bool may_hold_after(std::string_view folder_with_slash, std::string_view after) {
  const std::string_view folder = folder_with_slash.substr(0, folder_with_slash.size() - 1);
  return after < std::string(folder) + "0";
}

class Walk {
 public:
  Walk(const std::string& prefix, const std::string& after, std::size_t limit, const ReadFolder& read)
      : prefix_(prefix), after_(after), limit_(limit), read_(read) {}

  /// `folder` is empty or ends with a slash.
  Result<void> visit(const std::string& folder) {
    std::string last;  // sort name of the entry handled last
    while (!is_full()) {
      const FolderQuestion question{folder.substr(0, folder.size() - (folder.empty() ? 0 : 1)),
                                    [&](const std::string& name) { return name > last && is_wanted(folder + name); },
                                    limit_ + 1};
      TRY_ASSIGN(entries, read_(question));
      for (const FolderEntry& entry : entries) {
        if (is_full()) return {};
        last = entry.sort_name();
        if (entry.is_folder) {
          TRY(visit(folder + last));
        } else if (entry.size >= 0) {
          page_.objects.push_back({folder + entry.name, entry.size});
        }
      }
      if (entries.size() < question.most) return {};
    }
    return {};
  }

  /// One more was looked for than is wanted, to know whether there is another page.
  ObjectPage take() {
    if (is_full()) {
      page_.objects.pop_back();
      page_.next = page_.objects.back().key;
    }
    return std::move(page_);
  }

 private:
  bool is_full() const { return page_.objects.size() > limit_; }

  bool is_wanted(const std::string& path) const {
    if (path.ends_with('/')) {
      const bool may_match = std::string_view(path).starts_with(prefix_) || prefix_.starts_with(path);
      return may_match && check_key_prefix(path).has_value() && may_hold_after(path, after_);
    }
    return path.starts_with(prefix_) && path > after_ && check_key(path).has_value();
  }

  const std::string& prefix_;
  const std::string& after_;
  const std::size_t limit_;
  const ReadFolder& read_;
  ObjectPage page_;
};

}  // namespace

Result<ObjectPage> walk_folders(const std::string& prefix, const std::string& after, std::size_t limit,
                                const ReadFolder& read) {
  Walk walk(prefix, after, limit, read);
  const std::size_t slash = prefix.rfind('/');
  TRY(walk.visit(slash == std::string::npos ? "" : prefix.substr(0, slash + 1)));
  return walk.take();
}

void FirstEntries::add(FolderEntry entry) {
  if (!question_.passes(entry.sort_name())) return;
  entries_.push_back(std::move(entry));
  if (entries_.size() >= 2 * question_.most + 1'000) cut();
}

void FirstEntries::cut() {
  std::ranges::sort(entries_, {}, &FolderEntry::sort_name);
  if (entries_.size() > question_.most) entries_.resize(question_.most);
}

std::vector<FolderEntry> FirstEntries::take() {
  cut();
  return std::move(entries_);
}

}  // namespace cadre::objects
