/// A set of agents by index, as bits: quick to change, quick to walk in order. One thread at a time.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

namespace cadre::plan {

class AgentSet {
 public:
  void insert(std::uint32_t agent) {
    const std::size_t word = agent / 64;
    if (word >= words_.size()) words_.resize(word + 1);
    const std::uint64_t bit = std::uint64_t{1} << agent % 64;
    count_ += (words_[word] & bit) == 0;
    words_[word] |= bit;
  }
  void erase(std::uint32_t agent) {
    if (!contains(agent)) return;
    words_[agent / 64] &= ~(std::uint64_t{1} << agent % 64);
    --count_;
  }
  bool contains(std::uint32_t agent) const { return (word(agent / 64) >> agent % 64 & 1) != 0; }
  std::size_t size() const { return count_; }
  bool empty() const { return count_ == 0; }
  void clear() {
    words_.clear();
    count_ = 0;
  }
  void insert(const AgentSet& other) {
    other.each([this](std::uint32_t agent) {
      insert(agent);
      return true;
    });
  }

  /// Takes out what is in `other`; nothing, if that is null.
  void remove(const AgentSet* other) {
    if (other == nullptr) return;
    count_ = 0;
    for (std::size_t at = 0; at < words_.size(); ++at) {
      words_[at] &= ~other->word(at);
      count_ += static_cast<std::size_t>(std::popcount(words_[at]));
    }
  }

  /// Calls visit(agent) in ascending order until it returns false; true if it never did.
  template <class Visit>
  bool each(Visit visit) const {
    return each_within({}, visit);
  }

  /// Which agents to look at: those in `allowed` (all, if null) and not in `barred` (none, if null).
  struct Filter {
    const AgentSet* allowed = nullptr;
    const AgentSet* barred = nullptr;
    bool admits(std::uint32_t agent) const {
      return (allowed == nullptr || allowed->contains(agent)) && (barred == nullptr || !barred->contains(agent));
    }
  };

  template <class Visit>
  bool each_within(Filter filter, Visit visit) const {
    if (empty()) return true;
    for (std::size_t at = 0; at < words_.size(); ++at) {
      std::uint64_t bits = words_[at];
      if (filter.allowed != nullptr) bits &= filter.allowed->word(at);
      if (filter.barred != nullptr) bits &= ~filter.barred->word(at);
      for (; bits != 0; bits &= bits - 1) {
        if (!visit(static_cast<std::uint32_t>(at * 64 + static_cast<std::size_t>(std::countr_zero(bits)))))
          return false;
      }
    }
    return true;
  }

 private:
  std::uint64_t word(std::size_t at) const { return at < words_.size() ? words_[at] : 0; }

  std::vector<std::uint64_t> words_;
  std::size_t count_ = 0;
};

}  // namespace cadre::plan
