/// Prepared statements by their text, the least recently used of which makes room. One thread at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace cadre::database {

template <class Statement>
class Statements {
 public:
  explicit Statements(std::size_t max) : max_(std::max<std::size_t>(max, 1)) {}

  /// The statement stays where it is until it is put out.
  Statement* find(std::string_view key) {
    const auto at = index_.find(key);
    if (at == index_.end()) return nullptr;
    order_.splice(order_.begin(), order_, at->second);
    return &at->second->second;
  }

  /// Takes out the least recently used statement when one more would be too many.
  std::optional<Statement> make_room() {
    if (order_.size() < max_) return std::nullopt;
    std::optional<Statement> oldest(std::move(order_.back().second));
    index_.erase(order_.back().first);
    order_.pop_back();
    return oldest;
  }

  Statement* add(std::string key, Statement statement) {
    order_.emplace_front(std::move(key), std::move(statement));
    index_.emplace(order_.front().first, order_.begin());
    return &order_.front().second;
  }

  void remove(std::string_view key) {
    const auto at = index_.find(key);
    if (at == index_.end()) return;
    const auto entry = at->second;
    index_.erase(at);  // before the text that its key views
    order_.erase(entry);
  }

  void clear() {
    index_.clear();
    order_.clear();
  }

 private:
  using Order = std::list<std::pair<std::string, Statement>>;
  std::size_t max_;
  Order order_;
  std::unordered_map<std::string_view, typename Order::iterator> index_;  // keys view the texts in order_
};

}  // namespace cadre::database
