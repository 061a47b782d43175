#include "api/sections.h"

#include <algorithm>

namespace cadre::api {

describe::Faults Sections::faults(std::vector<std::string_view> own) const {
  describe::Faults all = faults_;
  for (const describe::FieldShape& section : taken_) own.push_back(section.key);
  for (const describe::Entry& entry : entries_) {
    if (std::find(own.begin(), own.end(), entry.key) != own.end()) continue;
    all.add({entry.key, "is not a known key;" + describe::suggestion(entry.key, own), entry.value.at()});
  }
  return all;
}

}  // namespace cadre::api
