#include "base/pattern.h"

#include <string>
#include <utility>

#include "base/pattern_tree.h"

namespace cadre {
namespace {

/// Steps of an expression when its repetitions are written out.
constexpr std::size_t steps_most = 10'000;

bool is_word_byte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

}  // namespace

/// Writes the steps of a tree from its end to its front, so that each step knows the one that follows.
class PatternWriter {
 public:
  [[nodiscard]] Result<Pattern> write(const PatternTree& tree) {
    const std::uint32_t match = add({});
    TRY_ASSIGN(start, write(tree, match));
    pattern_.start_ = start;
    find_first(start);
    return std::move(pattern_);
  }

 private:
  std::uint32_t add(Pattern::Step step) {
    pattern_.steps_.push_back(step);
    return static_cast<std::uint32_t>(pattern_.steps_.size() - 1);
  }
  std::uint32_t add_fork(std::uint32_t one, std::uint32_t other) {
    return add({Pattern::Step::Kind::fork, {}, 0, one, other});
  }

  /// The first step of the tree, of which a match goes on at `next`.
  Result<std::uint32_t> write(const PatternTree& tree, std::uint32_t next) {
    if (pattern_.steps_.size() > steps_most) {
      return fail(Errc::invalid, "is too large when its repetitions are written out; repeat less");
    }
    switch (tree.kind) {
      case PatternTree::Kind::bytes:
        pattern_.bytes_.push_back(tree.bytes);
        return add({Pattern::Step::Kind::bytes, {}, static_cast<std::uint32_t>(pattern_.bytes_.size() - 1), next, 0});
      case PatternTree::Kind::assertion: return add({Pattern::Step::Kind::assertion, tree.assertion, 0, next, 0});
      case PatternTree::Kind::sequence:
        for (auto part = tree.parts.rbegin(); part != tree.parts.rend(); ++part) {
          TRY_ASSIGN(begin, write(*part, next));
          next = begin;
        }
        return next;
      case PatternTree::Kind::choice: return write_choice(tree, next);
      case PatternTree::Kind::repetition: return write_repetition(tree, next);
    }
    return next;
  }

  Result<std::uint32_t> write_choice(const PatternTree& tree, std::uint32_t next) {
    TRY_ASSIGN(begin, write(tree.parts.back(), next));
    for (std::size_t i = tree.parts.size() - 1; i-- > 0;) {
      TRY_ASSIGN(one, write(tree.parts[i], next));
      begin = add_fork(one, begin);
    }
    return begin;
  }

  Result<std::uint32_t> write_repetition(const PatternTree& tree, std::uint32_t next) {
    const PatternTree& inner = tree.parts.front();
    if (!tree.most) {
      const std::uint32_t fork = add_fork(0, next);
      TRY_ASSIGN(begin, write(inner, fork));
      pattern_.steps_[fork].next = begin;
      next = fork;
    }
    const std::uint32_t end = next;
    for (std::uint32_t i = tree.most.value_or(tree.least); i > 0; --i) {
      TRY_ASSIGN(begin, write(inner, next));
      next = i > tree.least ? add_fork(begin, end) : begin;
    }
    return next;
  }

  /// Assertions are taken to hold.
  void find_first(std::uint32_t start) {
    std::vector<bool> is_seen(pattern_.steps_.size());
    std::vector<std::uint32_t> open{start};
    while (!open.empty()) {
      const std::uint32_t at = open.back();
      open.pop_back();
      if (is_seen[at]) continue;
      is_seen[at] = true;
      const Pattern::Step& step = pattern_.steps_[at];
      if (step.kind == Pattern::Step::Kind::match) pattern_.may_be_empty_ = true;
      if (step.kind == Pattern::Step::Kind::bytes) pattern_.first_ |= pattern_.bytes_[step.bytes];
      if (step.kind == Pattern::Step::Kind::fork) open.push_back(step.other);
      if (step.kind == Pattern::Step::Kind::fork || step.kind == Pattern::Step::Kind::assertion) {
        open.push_back(step.next);
      }
    }
  }

  Pattern pattern_;
};

Result<Pattern> Pattern::parse(std::string_view text) {
  TRY_ASSIGN(tree, parse_pattern(text));
  return PatternWriter().write(tree);
}

/// All ways to match at once: the steps that wait for the next byte. Each is entered once for each byte.
class Pattern::Run {
 public:
  Run(const Pattern& pattern, std::string_view line)
      : pattern_(pattern), line_(line), entered_(pattern.steps_.size(), line.size() + 1) {}

  bool find() {
    for (std::size_t at = 0; at <= line_.size(); ++at) {
      if (waiting_.empty() && !pattern_.may_be_empty_) {
        while (at < line_.size() && !pattern_.first_[static_cast<unsigned char>(line_[at])]) ++at;
        if (at == line_.size()) return false;
      }
      if (enter(pattern_.start_, at)) return true;
      if (at == line_.size()) return false;
      const auto byte = static_cast<unsigned char>(line_[at]);
      std::swap(waiting_, before_);
      waiting_.clear();
      for (const std::uint32_t step : before_) {
        if (pattern_.bytes_[pattern_.steps_[step].bytes][byte] && enter(pattern_.steps_[step].next, at + 1))
          return true;
      }
    }
    return false;
  }

 private:
  bool holds(Assertion assertion, std::size_t at) const {
    const bool before = at > 0 && is_word_byte(line_[at - 1]);
    const bool after = at < line_.size() && is_word_byte(line_[at]);
    switch (assertion) {
      case Assertion::begin: return at == 0;
      case Assertion::end: return at == line_.size();
      case Assertion::word_border: return before != after;
      case Assertion::no_word_border: return before == after;
    }
    return false;
  }

  /// Enters a step before the byte at `at`, and those that follow without one. True: that is a match.
  bool enter(std::uint32_t first, std::size_t at) {
    open_.assign(1, first);
    while (!open_.empty()) {
      const std::uint32_t index = open_.back();
      open_.pop_back();
      if (entered_[index] == at) continue;
      entered_[index] = at;
      const Step& step = pattern_.steps_[index];
      switch (step.kind) {
        case Step::Kind::match: return true;
        case Step::Kind::bytes: waiting_.push_back(index); break;
        case Step::Kind::assertion:
          if (holds(step.assertion, at)) open_.push_back(step.next);
          break;
        case Step::Kind::fork:
          open_.push_back(step.other);
          open_.push_back(step.next);
          break;
      }
    }
    return false;
  }

  const Pattern& pattern_;
  const std::string_view line_;
  std::vector<std::size_t> entered_;  ///< before which byte a step was entered last
  std::vector<std::uint32_t> waiting_;
  std::vector<std::uint32_t> before_;
  std::vector<std::uint32_t> open_;
};

bool Pattern::is_in(std::string_view line) const { return Run(*this, line).find(); }

}  // namespace cadre
