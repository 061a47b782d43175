/// The calls that have come to an actor from all its callers, in the order in which they came, and which of them may
/// run. Pure; one thread at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace cadre::remote {

/// `What` is wanted by a call.
template <class What>
class Callee {
 public:
  struct Key {
    std::uint64_t connection = 0;
    std::uint64_t id = 0;  ///< those of one connection only grow
    bool operator==(const Key&) const = default;
  };
  struct Call {
    Key key;
    What what;
  };

  /// So many run at a time; one: in order.
  explicit Callee(std::size_t lanes) : lanes_(lanes) {}

  /// False when this one came before: it is not run twice.
  [[nodiscard]] bool came(Key key, What what) {
    std::uint64_t& next = next_ids_[key.connection];
    if (key.id < next) return false;
    next = key.id + 1;
    waiting_.push_back({key, std::move(what)});
    return true;
  }
  /// Whether it will not run: it had not begun.
  bool cancel(Key key) {
    const auto found = std::find_if(waiting_.begin(), waiting_.end(), [&](const Call& one) { return one.key == key; });
    if (found == waiting_.end()) return false;
    waiting_.erase(found);
    return true;
  }
  /// The caller is gone, and with it what it still wanted; what runs goes on.
  void gone(std::uint64_t connection) {
    std::erase_if(waiting_, [&](const Call& one) { return one.key.connection == connection; });
    next_ids_.erase(connection);
  }
  /// One that is to run now; nothing while none waits, or all lanes are taken.
  std::optional<Call> next() {
    if (waiting_.empty() || running_.size() >= lanes_) return std::nullopt;
    std::optional<Call> call = std::move(waiting_.front());
    waiting_.pop_front();
    running_.push_back(call->key);
    return call;
  }
  void finished(Key key) { std::erase(running_, key); }

  std::size_t waiting() const { return waiting_.size(); }
  /// Who waits longest; null: nobody waits.
  const What* first() const { return waiting_.empty() ? nullptr : &waiting_.front().what; }
  std::size_t running() const { return running_.size(); }

 private:
  const std::size_t lanes_;
  std::deque<Call> waiting_;
  std::vector<Key> running_;
  std::map<std::uint64_t, std::uint64_t> next_ids_;  ///< of each connection: smaller ones have come
};

}  // namespace cadre::remote
