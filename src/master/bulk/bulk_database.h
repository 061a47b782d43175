/// The database as the bulk side of a part sees it: a connection of its own, whose transactions fail as soon as another
/// master has begun with the same database. One thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "database/database.h"

namespace cadre::master {

class BulkDatabase {
 public:
  /// `boot` is the number of this master's start, as the records have it; it may change (Records::begin_boot).
  BulkDatabase(std::unique_ptr<database::Database> database, std::function<std::uint64_t()> boot)
      : database_(std::move(database)), boot_(std::move(boot)) {}

  [[nodiscard]] Result<database::Rows> query(std::string_view sql, const database::Values& params = {}) {
    return database_->query(sql, params);
  }
  /// As Database::transaction. `unavailable` if this master is not the last that has begun: nothing was written.
  template <class Fn>
  [[nodiscard]] auto transaction(Fn&& fn) -> std::invoke_result_t<Fn&, database::Transaction&> {
    return database_->transaction(
        [&](database::Transaction& transaction) -> std::invoke_result_t<Fn&, database::Transaction&> {
          TRY(confirm(transaction));
          return fn(transaction);
        });
  }

 private:
  /// Transactions are serialisable: one that sees the number of this master comes before the begin of another.
  Result<void> confirm(database::Transaction& transaction) {
    TRY_ASSIGN(rows, transaction.query("SELECT boot FROM master"));
    TRY_ASSIGN(row, rows.one());
    TRY_ASSIGN(boot, row.get<std::int64_t>(0));
    if (static_cast<std::uint64_t>(boot) == boot_()) return {};
    return fail(Errc::unavailable, "another master has begun with the database " + std::string(database_->place()) +
                                       ", or this one is reading its state again; try again");
  }

  std::unique_ptr<database::Database> database_;
  std::function<std::uint64_t()> boot_;
};

}  // namespace cadre::master
