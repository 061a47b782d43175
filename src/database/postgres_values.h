/// Between PostgreSQL's forms and our values. Safe on any thread.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "database/rows.h"

struct pg_result;

namespace cadre::database {

/// Integers of any width and truth values become integers, doubles and decimals with a point doubles, bytea bytes, all
/// else text.
[[nodiscard]] Result<Rows> rows_of(const pg_result* result);

/// Parameters as libpq takes them; borrows from the values.
class Arguments {
 public:
  explicit Arguments(const Values& params);
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;

  int count() const { return static_cast<int>(values_.size()); }
  const unsigned* types() const { return types_.data(); }
  const char* const* values() const { return values_.data(); }
  const int* lengths() const { return lengths_.data(); }
  const int* formats() const { return formats_.data(); }

 private:
  using Word = std::array<char, 8>;
  void add(const Value& value, Word& word);
  void push(const char* value, std::size_t length);

  std::vector<Word> words_;  // of numbers
  std::vector<unsigned> types_;
  std::vector<const char*> values_;
  std::vector<int> lengths_, formats_;
};

/// Adds a row in the text form that COPY reads.
void append_copy_row(std::string& text, const Values& row);

}  // namespace cadre::database
