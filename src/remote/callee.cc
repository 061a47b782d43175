#include "remote/callee.h"

namespace cadre::remote {

bool Callee::came(Key key) {
  if (places_.contains(key) || running_.contains(key)) return false;
  places_[key] = waiting_.insert(waiting_.end(), key);
  return true;
}

bool Callee::cancel(Key key) {
  const auto found = places_.find(key);
  if (found == places_.end()) return false;
  waiting_.erase(found->second);
  places_.erase(found);
  return true;
}

std::vector<Callee::Key> Callee::gone(std::uint64_t connection) {
  std::vector<Key> dropped;
  for (auto at = places_.lower_bound({connection, 0}); at != places_.end() && at->first.connection == connection;) {
    dropped.push_back(at->first);
    waiting_.erase(at->second);
    at = places_.erase(at);
  }
  return dropped;
}

std::optional<Callee::Key> Callee::next() {
  if (waiting_.empty() || running_.size() >= lanes_) return std::nullopt;
  const Key key = waiting_.front();
  waiting_.pop_front();
  places_.erase(key);
  running_.insert(key);
  return key;
}

}  // namespace cadre::remote
