/// Lines of a name and what it is, the names as wide as the widest; what is empty is left out. One thread at a time.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace cadre::cli {

class Facts {
 public:
  void add(std::string name, std::string text) {
    if (!text.empty()) facts_.emplace_back(std::move(name), std::move(text));
  }
  std::string to_text(bool coloured) const;

 private:
  std::vector<std::pair<std::string, std::string>> facts_;
};

}  // namespace cadre::cli
