/// Between SQLite's statements and our values. One thread at a time for one statement.
#pragma once

#include <cstddef>

#include "database/value.h"

struct sqlite3_stmt;

namespace cadre::database {

/// The n of a parameter named $n; 0 for another name.
std::size_t parameter_number(const char* name);

/// Gives SQLite's result code. The value is borrowed until the statement's bindings are cleared.
int bind(sqlite3_stmt* statement, int at, const Value& value);

/// A cell of the row on which the statement stands.
Value cell(sqlite3_stmt* statement, int column);

}  // namespace cadre::database
