/// Between PostgreSQL's text and our values. Safe on any thread.
#pragma once

#include <string>

#include "base/result.h"
#include "database/rows.h"

struct pg_result;

namespace cadre::database {

/// Integers of any width and truth values become integers, doubles and decimals with a point doubles, bytea bytes, all
/// else text.
[[nodiscard]] Result<Rows> rows_of(const pg_result* result);

/// Adds a row in the text form that COPY reads.
void append_copy_row(std::string& text, const Values& row);

}  // namespace cadre::database
