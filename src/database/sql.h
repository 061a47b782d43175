/// Looks at SQL text without an engine: how many statements and parameters it has. Safe on any thread.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace cadre::database {

struct Shape {
  std::vector<std::string> verbs;  ///< the first word of each statement, in capitals
  std::size_t parameters = 0;      ///< the highest n of $n
};

/// Knows quotes and comments; not the dollar quotes of PostgreSQL.
Shape shape_of(std::string_view sql);

/// Exactly one statement, with as many parameters as given, that does not begin or end a transaction.
[[nodiscard]] Result<void> check_statement(std::string_view sql, std::size_t parameters);
/// Any number of statements without parameters, none of which begins or ends a transaction.
[[nodiscard]] Result<void> check_script(std::string_view sql);

/// A statement that only reads: when its answer is lost, nothing else is.
bool only_reads(std::string_view sql);

/// `"name"`, for a name of small letters, digits and underscores, which both engines take for the same.
[[nodiscard]] Result<std::string> quoted_name(std::string_view name);
/// `"a", "b"`
[[nodiscard]] Result<std::string> quoted_names(std::span<const std::string> names);

}  // namespace cadre::database
