/// Brings a database to the schema that this program knows, step by step. One thread at a time for one Database; any
/// number of processes may do it at once.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/log.h"
#include "database/database.h"

namespace cadre::database {

/// A step, never changed once released: its text is remembered by a checksum.
struct Migration {
  std::int64_t version;   ///< 1, 2, 3, … without a gap
  std::string_view name;  ///< what it does, in a few words
  std::string_view sql;   ///< any number of statements that both engines understand
};

/// Applies the steps that are missing, each in a transaction of its own: a failed step leaves the version before it.
/// A database that is newer than `steps`, or to which other steps were applied, is refused with Errc::invalid and left
/// as it is.
///
/// A database can have several schemas that grow independently, each with a name; that of the main one is empty.
[[nodiscard]] Result<void> migrate(Database& database, const std::string& schema, std::span<const Migration> steps,
                                   Log& log);

/// The last version applied; 0 before the first.
[[nodiscard]] Result<std::int64_t> schema_version(Database& database, const std::string& schema = "");

}  // namespace cadre::database
