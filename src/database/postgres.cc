#include <libpq-fe.h>

#include <charconv>
#include <string>
#include <utility>

#include "base/check.h"
#include "database/engine.h"
#include "database/postgres_link.h"
#include "database/postgres_values.h"
#include "database/sql.h"
#include "database/statements.h"

namespace cadre::database {
namespace {

constexpr std::size_t copy_piece_bytes = 64 * 1024;

std::int64_t changed_rows(PGresult* result) {
  const std::string_view tag = PQcmdStatus(result), count = PQcmdTuples(result);
  std::int64_t changed = 0;
  if (!tag.starts_with("SELECT")) std::from_chars(count.data(), count.data() + count.size(), changed);
  return changed;
}

class Postgres final : public Engine {
 public:
  Postgres(PostgresUrl url, std::string place, const Options& options)
      : url_(std::move(url)), place_(std::move(place)), options_(options), statements_(options.statements_max) {}

  Result<void> ensure_connected();

  Result<Outcome> run(std::string_view sql, const Values& params) override;
  Result<void> script(std::string_view sql) override;
  Result<void> bulk_insert(const Bulk& bulk) override;
  Result<void> lock(std::string_view table) override;
  Result<void> begin() override;
  Result<void> commit() override;
  void rollback() override;
  std::string_view place() const override { return place_; }

 private:
  enum class IfLost { nothing_done, may_be_done };
  Failure settle(Error error, IfLost if_lost);
  void disconnect();
  Result<void> check_link() const;
  Result<std::string> prepare(std::string_view sql, const Values& params, std::string key);
  static std::string key_of(std::string_view sql, const Values& params);

  PostgresUrl url_;
  std::string place_;
  Options options_;
  std::unique_ptr<PostgresLink> link_;
  Statements<std::string> statements_;  // their names on the server
  std::uint64_t names_given_ = 0;
  bool in_transaction_ = false;
};

/// Turns to the error that the caller should see, and lets go of a link that was lost.
Failure Postgres::settle(Error error, IfLost if_lost) {
  if (link_ && link_->lost()) {
    disconnect();
    if (if_lost == IfLost::may_be_done) {
      error = {Errc::timed_out, error.message + "; it may or may not have been executed: check before you repeat it"};
    } else {
      error.message += "; nothing was written";
    }
  }
  return Failure(std::move(error));
}

void Postgres::disconnect() {
  link_.reset();
  statements_.clear();
}

Result<void> Postgres::ensure_connected() {
  if (link_ && link_->alive()) return {};
  disconnect();
  TRY_ASSIGN(link, PostgresLink::connect(url_, place_, options_));
  link_ = std::move(link);
  return {};
}

Result<void> Postgres::check_link() const {
  if (link_) return {};
  return fail(Errc::unavailable, "PostgreSQL " + place_ + ": the connection of this transaction was lost");
}

/// The types of the values belong to a prepared statement.
std::string Postgres::key_of(std::string_view sql, const Values& params) {
  std::string key;
  key.reserve(params.size() + sql.size());
  for (const Value& value : params) key += static_cast<char>('0' + value.index());
  return key.append(sql);
}

Result<std::string> Postgres::prepare(std::string_view sql, const Values& params, std::string key) {
  if (const std::string* known = statements_.find(key)) return *known;
  if (const auto oldest = statements_.make_room()) TRY(link_->plain("DEALLOCATE " + *oldest));
  std::string name = "s" + std::to_string(++names_given_);
  TRY(link_->prepare(name, std::string(sql), params));
  return *statements_.add(std::move(key), std::move(name));
}

Result<Engine::Outcome> Postgres::run(std::string_view sql, const Values& params) {
  if (in_transaction_) {
    TRY(check_link());
  } else {
    TRY(ensure_connected());
  }
  const std::string key = key_of(sql, params);
  auto name = prepare(sql, params, key);
  if (!name) return settle(std::move(name).error(), IfLost::nothing_done);
  auto result = link_->run(*name, params);
  if (!result) {
    if (result.error().code == Errc::conflict) statements_.remove(key);  // its table may have changed
    const bool harmless = in_transaction_ || only_reads(sql);
    return settle(std::move(result).error(), harmless ? IfLost::nothing_done : IfLost::may_be_done);
  }
  TRY_ASSIGN(rows, rows_of(result->get()));
  return Outcome{std::move(rows), changed_rows(result->get())};
}

Result<void> Postgres::script(std::string_view sql) {
  TRY(check_link());
  if (auto done = link_->plain(std::string(sql)); !done) return settle(std::move(done).error(), IfLost::nothing_done);
  return {};
}

Result<void> Postgres::bulk_insert(const Bulk& bulk) {
  TRY(check_link());
  TRY_ASSIGN(table, quoted_name(bulk.table));
  TRY_ASSIGN(columns, quoted_names(bulk.columns));
  std::string piece;
  std::size_t at = 0;
  const auto next = [&]() -> std::string_view {
    for (piece.clear(); at < bulk.rows.size() && piece.size() < copy_piece_bytes; ++at) {
      append_copy_row(piece, bulk.rows[at]);
    }
    return piece;
  };
  auto copied = link_->copy("COPY " + table + " (" + columns + ") FROM STDIN", next);
  if (!copied) return settle(std::move(copied).error(), IfLost::nothing_done);
  return {};
}

Result<void> Postgres::lock(std::string_view table) {
  TRY_ASSIGN(name, quoted_name(table));
  return script("LOCK TABLE " + name + " IN EXCLUSIVE MODE");
}

Result<void> Postgres::begin() {
  CHECK(!in_transaction_);
  TRY(ensure_connected());
  if (auto begun = link_->plain("BEGIN ISOLATION LEVEL SERIALIZABLE"); !begun) {
    return settle(std::move(begun).error(), IfLost::nothing_done);
  }
  in_transaction_ = true;
  return {};
}

Result<void> Postgres::commit() {
  TRY(check_link());
  if (!link_->alive()) {
    disconnect();
    return fail(Errc::unavailable,
                "PostgreSQL " + place_ + ": the connection was lost before the commit; nothing was written");
  }
  auto done = link_->plain("COMMIT");
  if (!done) return settle(std::move(done).error(), IfLost::may_be_done);
  in_transaction_ = false;
  if (std::string_view(PQcmdStatus(done->get())) != "COMMIT") {
    return fail(Errc::conflict, "PostgreSQL " + place_ + ": the transaction was rolled back by the server");
  }
  return {};
}

void Postgres::rollback() {
  if (in_transaction_ && link_ && !link_->plain("ROLLBACK")) disconnect();  // the server rolls back what is cut off
  in_transaction_ = false;
}

}  // namespace

Result<std::unique_ptr<Engine>> open_postgres(const PostgresUrl& url, const Options& options) {
  TRY_ASSIGN(place, place_of(url));
  auto postgres = std::make_unique<Postgres>(url, std::move(place), options);
  TRY(postgres->ensure_connected());
  return postgres;
}

}  // namespace cadre::database
