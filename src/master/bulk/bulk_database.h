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
#include "records/table.h"

namespace cadre::master {

class BulkDatabase {
 public:
  /// `boot` is the number of this master's start, as the records have it; it may change (Records::begin_boot).
  BulkDatabase(std::unique_ptr<database::Database> database, std::function<std::uint64_t()> boot,
               records::Pieces pieces = records::Pieces::single)
      : database_(std::move(database)), boot_(std::move(boot)), pieces_(pieces) {}

  /// What was read before it changed may be out of date: another master may have written in between.
  [[nodiscard]] std::uint64_t boot() const { return boot_(); }
  /// How to write rows to this database.
  [[nodiscard]] records::Pieces pieces() const { return pieces_; }

  [[nodiscard]] Result<database::Rows> query(std::string_view sql, const database::Values& params = {}) {
    return database_->query(sql, params);
  }
  /// As Database::transaction. `unavailable` if this master is not the last that has begun: nothing was written.
  template <class Fn>
  [[nodiscard]] auto transaction(Fn&& fn) -> std::invoke_result_t<Fn&, database::Transaction&> {
    return database_->transaction(confirmed(fn));
  }
  /// The same, repeated while it ends in a conflict. fn must start from nothing each time.
  template <class Fn>
  [[nodiscard]] auto repeatable_transaction(Fn&& fn) -> std::invoke_result_t<Fn&, database::Transaction&> {
    return database::repeat_on_conflict(*database_, attempts_max, confirmed(fn));
  }

 private:
  static constexpr int attempts_max = 5;

  template <class Fn>
  auto confirmed(Fn& fn) {
    return [this, &fn](database::Transaction& transaction) -> std::invoke_result_t<Fn&, database::Transaction&> {
      TRY(confirm(transaction));
      return fn(transaction);
    };
  }
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
  const records::Pieces pieces_;
};

}  // namespace cadre::master
