#include "names/follower.h"

#include <set>
#include <string_view>
#include <utility>

namespace cadre::names {

std::vector<Change> Follower::take(News news) {
  std::vector<Change> changes;
  if (news.is_all) {
    std::set<std::string_view> there;
    for (const Entry& entry : news.put) there.insert(entry.key);
    news.gone.clear();
    for (const auto& [key, entry] : known_) {
      if (!there.contains(key)) news.gone.push_back(key);
    }
  }
  for (const std::string& key : news.gone) {
    auto known = known_.extract(key);
    if (known) changes.push_back({Change::Kind::gone, std::move(known.mapped())});
  }
  for (Entry& entry : news.put) {
    Entry& known = known_[entry.key];
    if (known == entry) continue;
    known = entry;
    changes.push_back({Change::Kind::put, std::move(entry)});
  }
  return changes;
}

}  // namespace cadre::names
