/// What is wrong with a text, each with its place and its remedy; all of it at once. Values; one thread at a time.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "describe/value.h"

namespace cadre::describe {

struct Fault {
  std::string path;  ///< like gangs[3].running_on.a1; empty for the whole
  std::string message;
  std::optional<Mark> at{};
  bool operator==(const Fault&) const = default;
};

/// A list of faults that keeps the first hundred and counts the rest.
class Faults {
 public:
  static constexpr std::size_t most_kept = 100;

  Faults() = default;
  explicit Faults(Fault only) { add(std::move(only)); }

  void add(Fault fault);
  [[nodiscard]] bool is_full() const { return kept_.size() == most_kept; }

  [[nodiscard]] bool empty() const { return kept_.empty(); }
  [[nodiscard]] std::size_t count() const { return kept_.size() + more_; }  ///< those not kept, too
  [[nodiscard]] std::size_t more() const { return more_; }                  ///< those not kept
  [[nodiscard]] const std::vector<Fault>& kept() const { return kept_; }
  [[nodiscard]] auto begin() const { return kept_.begin(); }
  [[nodiscard]] auto end() const { return kept_.end(); }
  bool operator==(const Faults&) const = default;

 private:
  std::vector<Fault> kept_;
  std::size_t more_ = 0;
};

/// One line each: `plan.yaml:3:5: gangs[0].slots: must be from 1 to 99, is 120`.
[[nodiscard]] std::string to_text(const Faults& faults, std::string_view file_name);

/// The same as an error, for those who pass it on.
[[nodiscard]] Error to_error(const Faults& faults, std::string_view file_name);

/// Where a reader stands in a tree: a chain of frames on the stack, spelled out only when there is a fault.
class Path {
 public:
  Path() = default;
  Path(const Path& parent, std::string_view key) : parent_(&parent), key_(key) {}
  Path(const Path& parent, std::size_t index) : parent_(&parent), index_(index), is_index_(true) {}

  [[nodiscard]] std::string to_text() const;

 private:
  const Path* parent_ = nullptr;
  std::string_view key_;
  std::size_t index_ = 0;
  bool is_index_ = false;
};

/// ` did you mean 'slots'?` when a known word is near, else ` the known ones are: a, b`; nothing when there are none.
[[nodiscard]] std::string suggestion(std::string_view word, const std::vector<std::string_view>& known);

}  // namespace cadre::describe
