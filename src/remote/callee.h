/// The calls that have come to an actor from all its callers, in the order in which they came, and which of them may
/// run. Pure; one thread at a time.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <vector>

namespace cadre::remote {

class Callee {
 public:
  struct Key {
    std::uint64_t connection = 0;
    std::uint64_t id = 0;
    auto operator<=>(const Key&) const = default;
  };

  /// So many run at a time; one: in order.
  explicit Callee(std::size_t lanes) : lanes_(lanes) {}

  /// False when this one is there already: it is not run twice.
  [[nodiscard]] bool came(Key key);
  /// Whether it will not run: it had not begun.
  bool cancel(Key key);
  /// The caller is gone, and with it what it still wanted; what runs goes on. Gives those that will not run.
  std::vector<Key> gone(std::uint64_t connection);
  /// One that is to run now; nothing while none waits, or all lanes are taken.
  std::optional<Key> next();
  void finished(Key key) { running_.erase(key); }

  std::size_t waiting() const { return waiting_.size(); }
  std::size_t running() const { return running_.size(); }

 private:
  const std::size_t lanes_;
  std::list<Key> waiting_;
  std::map<Key, std::list<Key>::iterator> places_;
  std::set<Key> running_;
};

}  // namespace cadre::remote
