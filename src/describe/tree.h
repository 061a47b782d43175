/// Builds a tree from the events of a parser, within bounds, and finds keys that stand twice. One thread at a time.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "describe/fault.h"
#include "describe/formats.h"
#include "describe/value.h"

namespace cadre::describe {

class Tree {
 public:
  explicit Tree(const Bounds& bounds) : bounds_(bounds) {}

  // Each is false when a bound is passed: the fault is kept, and the parser must stop.
  bool start_list(Mark at) { return start(Value(Value::List{}), at); }
  bool start_map(Mark at) { return start(Value(Value::Map{}), at); }
  bool add(Value value, Mark at);
  /// A whole tree at once.
  struct Extent {
    std::size_t nodes;
    std::size_t depth;
  };
  bool add_copy(const Value& value, Extent extent);

  void key(std::string text, Mark at);
  /// Ends the innermost list or map; gives it back where it now stands, until the next call.
  const Value& end();

  /// Inside a map that waits for a key.
  [[nodiscard]] bool expects_key() const;

  /// A fault at where the next value would stand.
  void fault(std::string message, std::optional<Mark> at);

  /// The tree, or the faults.
  [[nodiscard]] Parsed finish() &&;

 private:
  struct Open {
    Value value;
    std::string key{};
    Mark key_at{};
    bool has_key = false;
  };

  bool start(Value value, Mark at);
  bool count(std::size_t nodes, Mark at);
  bool is_too_deep(std::size_t depth, Mark at);
  const Value& place(Value value);
  void find_twins(const Value::Map& map);
  [[nodiscard]] std::string path(std::size_t frames) const;

  const Bounds bounds_;
  std::vector<Open> open_;
  Value root_;
  Faults faults_;
  std::size_t nodes_ = 0;
};

}  // namespace cadre::describe
