#include "database/sqlite_errors.h"

#include <sqlite3.h>

#include <cerrno>
#include <string>

#include "base/rounded.h"

namespace cadre::database {
namespace {

Errc code_of_constraint(int code) {
  switch (code) {
    case SQLITE_CONSTRAINT_UNIQUE:
    case SQLITE_CONSTRAINT_PRIMARYKEY:
    case SQLITE_CONSTRAINT_ROWID:
    case SQLITE_CONSTRAINT_FOREIGNKEY: return Errc::conflict;
    default: return Errc::invalid;
  }
}

Errc code_of_cannot_open(int system) {
  switch (system) {
    case EACCES:
    case EPERM:
    case EROFS: return Errc::denied;
    case ENOENT:
    case ENOTDIR: return Errc::not_found;
    case EISDIR: return Errc::invalid;
    default: return Errc::unavailable;
  }
}

Errc code_of(int code, int system) {
  if (code == SQLITE_BUSY_SNAPSHOT) return Errc::conflict;
  switch (code & 0xff) {
    case SQLITE_CONSTRAINT: return code_of_constraint(code);
    case SQLITE_CANTOPEN: return code_of_cannot_open(system);
    case SQLITE_PERM:
    case SQLITE_AUTH:
    case SQLITE_READONLY: return Errc::denied;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB: return Errc::corrupt;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_FULL:
    case SQLITE_IOERR:
    case SQLITE_INTERRUPT:
    case SQLITE_PROTOCOL:
    case SQLITE_NOMEM: return Errc::unavailable;
    default: return Errc::invalid;
  }
}

}  // namespace

bool is_full(sqlite3* db) {
  const int code = sqlite3_errcode(db) & 0xff, system = sqlite3_system_errno(db);
  if (code == SQLITE_FULL) return true;
  return (code == SQLITE_IOERR || code == SQLITE_CANTOPEN) && (system == ENOSPC || system == EDQUOT);
}

Error sqlite_error(sqlite3* db, std::string_view path, const Options& options) {
  if (db == nullptr) return {Errc::unavailable, "no memory for an SQLite connection"};
  const int code = sqlite3_extended_errcode(db);
  const int system = sqlite3_system_errno(db);
  const std::string place = "SQLite " + std::string(path) + ": ";
  if (is_full(db)) {
    return {Errc::unavailable,
            place + "the disk is full; nothing was written. Free space on the disk that holds it, then repeat"};
  }
  std::string message = place + sqlite3_errmsg(db);
  switch (code & 0xff) {
    case SQLITE_BUSY:
      message += "; another process or thread has held the write lock longer than " + rounded(options.busy_wait);
      break;
    case SQLITE_INTERRUPT: message += "; the statement ran longer than " + rounded(options.statement_wait); break;
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT: message += "; restore the file from a backup"; break;
    case SQLITE_CANTOPEN:
      if (system == ENOENT) message += "; the file or its folder does not exist";
      if (system == EACCES) message += "; permission denied";
      break;
    default: break;
  }
  return {code_of(code, system), std::move(message)};
}

}  // namespace cadre::database
