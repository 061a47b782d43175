#include "remote/term_queue.h"

#include <algorithm>

namespace cadre::remote {

void Chosen::add(Turn turn) {
  order_.push_back(turn);
  known_.insert(turn);
}

void Chosen::cut(std::size_t size) {
  while (order_.size() > size) {
    known_.erase(order_.back());
    order_.pop_back();
  }
}

void OldestFirst::add(Turn turn, std::string_view) { turns_.insert(turns_.end(), turn); }

void OldestFirst::remove(Turn turn, std::string_view) { turns_.erase(turn); }

bool OldestFirst::may_lack(std::string_view, std::size_t most) const { return turns_.size() < most; }

bool OldestFirst::choose(std::size_t count, Chosen& chosen) const {
  const std::size_t before = chosen.size();
  for (auto next = turns_.begin(); next != turns_.end() && chosen.size() < before + count; ++next) {
    if (!chosen.has(*next)) chosen.add(*next);
  }
  if (chosen.size() == before + count) return true;
  chosen.cut(before);
  return false;
}

void OldestOfEachSource::add(Turn turn, std::string_view source) {
  Turns& turns = by_source_[std::string(source)];
  if (turns.empty()) heads_.emplace(turn, &turns);
  turns.insert(turns.end(), turn);
}

void OldestOfEachSource::remove(Turn turn, std::string_view source) {
  const auto found = by_source_.find(std::string(source));
  Turns& turns = found->second;
  heads_.erase(*turns.begin());
  turns.erase(turn);
  if (turns.empty()) {
    by_source_.erase(found);
  } else {
    heads_.emplace(*turns.begin(), &turns);
  }
}

bool OldestOfEachSource::may_lack(std::string_view source, std::size_t most) const {
  if (by_source_.size() >= most) return false;
  const auto found = by_source_.find(std::string(source));
  return found == by_source_.end() || found->second.size() < most;
}

bool OldestOfEachSource::choose(std::size_t count, Chosen& chosen) const {
  const std::size_t before = chosen.size();
  Turns seconds;  // the oldest free ones of sources whose oldest is chosen already, for another term
  auto head = heads_.begin();
  while (chosen.size() < before + count && (head != heads_.end() || !seconds.empty())) {
    if (!seconds.empty() && (head == heads_.end() || *seconds.begin() < head->first)) {
      chosen.add(*seconds.begin());
      seconds.erase(seconds.begin());
      continue;
    }
    const Turns& turns = *(head++)->second;
    const auto free = std::find_if(turns.begin(), turns.end(), [&](Turn turn) { return !chosen.has(turn); });
    if (free == turns.end()) continue;
    if (free == turns.begin()) {
      chosen.add(*free);
    } else {
      seconds.insert(*free);
    }
  }
  if (chosen.size() == before + count) return true;
  chosen.cut(before);
  return false;
}

}  // namespace cadre::remote
