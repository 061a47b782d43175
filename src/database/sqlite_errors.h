/// What SQLite's result codes mean to us. Safe on any thread that holds the connection.
#pragma once

#include <string_view>

#include "base/result.h"
#include "database/options.h"

struct sqlite3;

namespace cadre::database {

/// The error of the last call on `db`, which may be null when there was not even memory for it.
Error sqlite_error(sqlite3* db, std::string_view path, const Options& options);

/// Whether the last call on `db` failed for want of space.
bool is_full(sqlite3* db);

}  // namespace cadre::database
