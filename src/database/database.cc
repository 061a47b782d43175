#include "database/database.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/dice.h"
#include "base/overloaded.h"
#include "database/sql.h"

namespace cadre::database {
namespace {

Result<void> check_call(std::string_view sql, const Values& params) {
  TRY(check_statement(sql, params.size()));
  for (const Value& value : params) TRY(check_storable(value));
  return {};
}

Result<void> check_bulk(const Bulk& bulk) {
  for (std::size_t at = 0; at < bulk.rows.size(); ++at) {
    const Values& row = bulk.rows[at];
    const std::string where = "row " + std::to_string(at) + " for table '" + std::string(bulk.table) + "': ";
    if (row.size() != bulk.columns.size()) {
      return fail(Errc::invalid, where + std::to_string(row.size()) + " values for " +
                                     std::to_string(bulk.columns.size()) + " columns");
    }
    for (const Value& value : row) {
      if (auto storable = check_storable(value); !storable)
        return fail(Errc::invalid, where + storable.error().message);
    }
  }
  return {};
}

}  // namespace

Transaction::~Transaction() {
  if (!begun_) return;
  engine_.rollback();
  under_way_ = false;
}

Result<void> Transaction::begin() {
  if (under_way_) return fail(Errc::invalid, "a transaction is under way on this connection; they do not nest");
  TRY(engine_.begin());
  begun_ = under_way_ = true;
  return {};
}

Result<void> Transaction::commit() {
  if (spoiled_) return Failure(*spoiled_);
  TRY(engine_.commit());
  begun_ = under_way_ = false;
  return {};
}

template <class Act>
auto Transaction::attempt(Act act) -> decltype(act()) {
  if (spoiled_) return Failure(*spoiled_);
  auto result = act();
  if (!result) spoiled_ = result.error();
  return result;
}

Result<std::int64_t> Transaction::exec(std::string_view sql, const Values& params) {
  return attempt([&]() -> Result<std::int64_t> {
    TRY(check_call(sql, params));
    TRY_ASSIGN(outcome, engine_.run(sql, params));
    return outcome.changed;
  });
}

Result<Rows> Transaction::query(std::string_view sql, const Values& params) {
  return attempt([&]() -> Result<Rows> {
    TRY(check_call(sql, params));
    TRY_ASSIGN(outcome, engine_.run(sql, params));
    return std::move(outcome.rows);
  });
}

Result<void> Transaction::script(std::string_view sql) {
  return attempt([&]() -> Result<void> {
    TRY(check_script(sql));
    return engine_.script(sql);
  });
}

Result<void> Transaction::bulk_insert(const Bulk& bulk) {
  return attempt([&]() -> Result<void> {
    TRY(check_bulk(bulk));
    return engine_.bulk_insert(bulk);
  });
}

Result<void> Transaction::lock(std::string_view table) {
  return attempt([&]() -> Result<void> {
    TRY(quoted_name(table));
    return engine_.lock(table);
  });
}

Result<void> Database::check_idle() const {
  if (!under_way_) return {};
  return fail(Errc::invalid, "a transaction is under way on this connection; use it");
}

Result<std::int64_t> Database::exec(std::string_view sql, const Values& params) {
  TRY(check_idle());
  TRY(check_call(sql, params));
  TRY_ASSIGN(outcome, engine_->run(sql, params));
  return outcome.changed;
}

Result<Rows> Database::query(std::string_view sql, const Values& params) {
  TRY(check_idle());
  TRY(check_call(sql, params));
  TRY_ASSIGN(outcome, engine_->run(sql, params));
  return std::move(outcome.rows);
}

Result<void> Database::bulk_insert(const Bulk& bulk) {
  return transaction([&](Transaction& all) { return all.bulk_insert(bulk); });
}

Result<std::unique_ptr<Database>> open(std::string_view text, const Options& options) {
  TRY_ASSIGN(url, parse_url(text));
  TRY_ASSIGN(engine, std::visit(overloaded{
                                    [&](const SqliteUrl& sqlite) { return open_sqlite(sqlite, options); },
                                    [&](const PostgresUrl& postgres) { return open_postgres(postgres, options); },
                                },
                                url));
  return std::make_unique<Database>(std::move(engine));
}

void pause_before_repeating(int attempt) {
  const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
  Dice dice(static_cast<std::uint64_t>(now) ^ static_cast<std::uint64_t>(getpid()) << 32);
  std::this_thread::sleep_for(std::chrono::microseconds(dice.between(0, 1'000LL << std::min(attempt, 7))));
}

}  // namespace cadre::database
