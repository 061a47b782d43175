/// One connection to an SQLite file or a PostgreSQL server, with the same promises on both. One thread at a time; for
/// more threads open more connections.
///
/// SQL: parameters are $1, $2, …; the types BIGINT, DOUBLE PRECISION, TEXT and BYTEA mean the same on both engines, a
/// truth value is a BIGINT 0 or 1. Give a parameter the type of its column: PostgreSQL insists on it, SQLite does not.
///
/// Errors:
///   conflict     a unique or foreign key is violated, or another transaction came between: look again, then repeat
///   unavailable  nothing was written: connection lost, disk full, a lock held longer than Options::busy_wait, or a
///                statement that ran longer than Options::statement_wait
///   timed_out    the answer to a commit was lost: it may or may not have been done; look before repeating
///   invalid      bad SQL, another constraint violated, a value that cannot be stored, a use that is not allowed
///   corrupt, denied, not_found  as they say
/// A lost connection is made anew by the next call, never within a transaction: that fails as a whole.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#include "database/engine.h"

namespace cadre::database {

/// What a function given to Database::transaction may do. The first error spoils the transaction: whatever follows
/// gives that error again, and it cannot be committed.
class Transaction {
 public:
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  ~Transaction();

  /// Gives the number of rows inserted, updated or deleted.
  [[nodiscard]] Result<std::int64_t> exec(std::string_view sql, const Values& params = {});
  [[nodiscard]] Result<Rows> query(std::string_view sql, const Values& params = {});
  /// Several statements, separated by semicolons.
  [[nodiscard]] Result<void> script(std::string_view sql);
  [[nodiscard]] Result<void> bulk_insert(const Bulk& bulk);
  /// No other transaction writes this table until this one ends. Call it before reading anything.
  [[nodiscard]] Result<void> lock(std::string_view table);

 private:
  friend class Database;
  explicit Transaction(bool& under_way, Engine& engine) : under_way_(under_way), engine_(engine) {}
  Result<void> begin();
  Result<void> commit();
  template <class Act>
  auto attempt(Act act) -> decltype(act());

  bool& under_way_;
  Engine& engine_;
  bool begun_ = false;
  std::optional<Error> spoiled_;
};

class Database {
 public:
  explicit Database(std::unique_ptr<Engine> engine) : engine_(std::move(engine)) {}

  /// A transaction of one statement. Not while transaction() runs: use the Transaction.
  [[nodiscard]] Result<std::int64_t> exec(std::string_view sql, const Values& params = {});
  [[nodiscard]] Result<Rows> query(std::string_view sql, const Values& params = {});
  /// All rows or none.
  [[nodiscard]] Result<void> bulk_insert(const Bulk& bulk);

  /// Calls fn(Transaction&), which returns a Result; commits if that has a value, rolls back otherwise. Serialisable.
  /// On SQLite it holds the only write lock from its beginning. Transactions do not nest.
  template <class Fn>
  [[nodiscard]] auto transaction(Fn&& fn) -> std::invoke_result_t<Fn&, Transaction&> {
    Transaction transaction(under_way_, *engine_);
    TRY(transaction.begin());
    auto result = fn(transaction);
    if (result) TRY(transaction.commit());
    return result;
  }

  /// Where the data is, for messages; without a password.
  std::string_view place() const { return engine_->place(); }

 private:
  Result<void> check_idle() const;

  std::unique_ptr<Engine> engine_;
  bool under_way_ = false;
};

/// sqlite:///absolute/path.db (made when it is not there), sqlite:relative.db, sqlite::memory:, or
/// postgresql://user:password@host:port/name?option=value. No message holds the password.
[[nodiscard]] Result<std::unique_ptr<Database>> open(std::string_view url, const Options& options = {});

/// Waits a little, longer after each attempt and differently in each process.
void pause_before_repeating(int attempt);

/// As Database::transaction, but repeats it while it ends in a conflict, attempts_max times in all. fn must start from
/// nothing each time.
template <class Fn>
[[nodiscard]] auto repeat_on_conflict(Database& database, int attempts_max, Fn&& fn)
    -> std::invoke_result_t<Fn&, Transaction&> {
  for (int attempt = 1;; ++attempt) {
    auto result = database.transaction(fn);
    if (result || result.error().code != Errc::conflict || attempt >= attempts_max) return result;
    pause_before_repeating(attempt);
  }
}

}  // namespace cadre::database
