#include "describe/fault.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "describe/utf8.h"

namespace cadre::describe {
namespace {

bool is_plain_key(std::string_view key) {
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  };
  return !key.empty() && std::all_of(key.begin(), key.end(), is_plain);
}

/// How many letters are added, removed, changed or swapped with their neighbour.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  std::vector<std::size_t> next(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    next[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      next[j + 1] = std::min({row[j] + (a[i] == b[j] ? 0 : 1), next[j] + 1, row[j + 1] + 1});
      const bool swapped = i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j];
      if (swapped) next[j + 1] = std::min(next[j + 1], before[j - 1] + 1);
    }
    std::swap(before, row);
    std::swap(row, next);
  }
  return row.back();
}

}  // namespace

void Faults::add(Fault fault) {
  if (is_full()) {
    ++more_;
  } else {
    kept_.push_back(std::move(fault));
  }
}

std::string to_text(const Faults& faults, std::string_view file_name) {
  std::string text;
  for (const Fault& fault : faults) {
    std::string place(file_name);
    if (fault.at) {
      place += (place.empty() ? "" : ":") + std::to_string(fault.at->line) + ":" + std::to_string(fault.at->column);
    }
    text += place + (place.empty() ? "" : ": ");
    if (!fault.path.empty()) text += fault.path + ": ";
    text += fault.message + "\n";
  }
  if (faults.more() > 0) text += "and " + std::to_string(faults.more()) + " more\n";
  return text;
}

Error to_error(const Faults& faults, std::string_view file_name) {
  std::string text = to_text(faults, file_name);
  if (text.ends_with('\n')) text.pop_back();
  return {Errc::invalid, std::move(text)};
}

std::string Path::to_text() const {
  constexpr std::size_t most_shown = 100;
  if (parent_ == nullptr) return {};
  std::string text = parent_->to_text();
  if (is_index_) return text + "[" + std::to_string(index_) + "]";
  if (!is_plain_key(key_)) return text + "[" + quoted(shortened(key_, most_shown)) + "]";
  return text + (text.empty() ? "" : ".") + shortened(key_, most_shown);
}

std::string suggestion(std::string_view word, const std::vector<std::string_view>& known) {
  constexpr std::size_t longest_word = 64;
  if (known.empty()) return {};
  if (word.size() <= longest_word) {
    const auto distance = [&](std::string_view choice) { return edit_distance(word, choice); };
    const auto nearest =
        std::min_element(known.begin(), known.end(), [&](auto a, auto b) { return distance(a) < distance(b); });
    if (distance(*nearest) <= std::max<std::size_t>(1, nearest->size() / 3)) {
      return " did you mean '" + std::string(*nearest) + "'?";
    }
  }
  std::string list;
  for (const std::string_view choice : known) list += (list.empty() ? "" : ", ") + std::string(choice);
  return " the known ones are: " + list;
}

}  // namespace cadre::describe
