#include <sqlite3.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <utility>

#include "base/check.h"
#include "database/engine.h"
#include "database/sql.h"
#include "database/sqlite_errors.h"
#include "database/sqlite_values.h"
#include "database/statements.h"

namespace cadre::database {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

struct Close {
  void operator()(sqlite3* db) const { sqlite3_close_v2(db); }
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Connection = std::unique_ptr<sqlite3, Close>;
using Statement = std::unique_ptr<sqlite3_stmt, Close>;

/// Lets go of what a statement holds when its use ends; its bindings view values of the caller.
struct Use {
  sqlite3_stmt* statement;
  explicit Use(sqlite3_stmt* used) : statement(used) {}
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;
  ~Use() {
    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
  }
};

class Sqlite final : public Engine {
 public:
  Sqlite(const SqliteUrl& url, const Options& options)
      : path_(url.path), options_(options), statements_(options.statements_max) {}

  /// `flags` adds to how the file is opened.
  Result<void> connect(int flags);

  Result<Outcome> run(std::string_view sql, const Values& params) override;
  Result<void> script(std::string_view sql) override;
  Result<void> bulk_insert(const Bulk& bulk) override;
  Result<void> lock(std::string_view) override { return {}; }  // every transaction is the only writer
  Result<void> begin() override;
  Result<void> commit() override;
  void rollback() override;
  std::string_view place() const override { return path_; }

 private:
  bool in_transaction() const { return db_ && sqlite3_get_autocommit(db_.get()) == 0; }
  Error error() const { return sqlite_error(db_.get(), path_, options_); }
  Error commit_error() const;
  Result<void> check_file();
  Result<void> ensure_connected();
  Result<void> plain(const char* sql);
  Result<void> use_write_ahead_log();
  Result<sqlite3_stmt*> prepare(std::string_view sql);
  Result<void> bind_all(sqlite3_stmt* statement, const Values& params) const;
  void start_clock() { deadline_ = Clock::now() + options_.statement_wait; }
  static int wait_for_lock(void* self, int attempts);
  static int out_of_time(void* self) { return Clock::now() > static_cast<Sqlite*>(self)->deadline_ ? 1 : 0; }

  std::string path_;
  Options options_;
  Connection db_;
  Statements<Statement> statements_;  // destroyed before the connection
  Clock::time_point deadline_{};
  Clock::time_point lock_deadline_{};
};

/// SQLite's own handler sleeps for up to 100 ms: a connection would hardly get the lock while another one writes all
/// the time.
int Sqlite::wait_for_lock(void* self, int attempts) {
  auto& connection = *static_cast<Sqlite*>(self);
  const Clock::time_point now = Clock::now();
  if (attempts == 0) connection.lock_deadline_ = now + connection.options_.busy_wait;
  if (now >= connection.lock_deadline_) return 0;
  std::this_thread::sleep_for(attempts < 20 ? 100us : 1ms);
  return 1;
}

Result<void> Sqlite::connect(int flags) {
  statements_.clear();
  db_.reset();
  sqlite3* raw = nullptr;
  const int code = sqlite3_open_v2(
      path_.c_str(), &raw, flags | SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, nullptr);
  Connection opened(raw);
  if (code != SQLITE_OK) return Failure(sqlite_error(raw, path_, options_));
  db_ = std::move(opened);
  sqlite3_busy_handler(raw, wait_for_lock, this);
  sqlite3_progress_handler(raw, 10'000, out_of_time, this);
  sqlite3_db_config(raw, SQLITE_DBCONFIG_DQS_DML, 0, nullptr);  // "x" is a name, as in PostgreSQL, never text
  sqlite3_db_config(raw, SQLITE_DBCONFIG_DQS_DDL, 0, nullptr);
  auto prepared = [&]() -> Result<void> {
    TRY(use_write_ahead_log());
    return plain(
        "PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON; PRAGMA journal_size_limit=67108864;"
        "PRAGMA case_sensitive_like=ON; SELECT count(*) FROM sqlite_master");
  }();
  if (!prepared) db_.reset();
  return prepared;
}

/// Changing the mode needs the file alone, and gives up at once instead of waiting as other statements do.
Result<void> Sqlite::use_write_ahead_log() {
  const Clock::time_point last = Clock::now() + options_.busy_wait;
  for (int attempt = 1;; ++attempt) {
    auto changed = plain("PRAGMA journal_mode=WAL");
    const bool busy = !changed && (sqlite3_errcode(db_.get()) & 0xff) == SQLITE_BUSY;
    if (!busy || Clock::now() > last) return changed;
    sqlite3_sleep(std::min(attempt, 20));
  }
}

/// When a commit failed: what the disk did not take as a whole may still be found in the log after a crash.
Error Sqlite::commit_error() const {
  Error failed = error();
  const bool bad_disk = (sqlite3_errcode(db_.get()) & 0xff) == SQLITE_IOERR && !is_full(db_.get());
  if (!bad_disk) return failed;
  return {Errc::timed_out, failed.message + "; it may or may not have been executed: check before you repeat it"};
}

/// Writes to a file that was removed or replaced would be lost without a word.
Result<void> Sqlite::check_file() {
  int moved = 0;
  sqlite3_file_control(db_.get(), "main", SQLITE_FCNTL_HAS_MOVED, &moved);
  if (moved == 0) return {};
  rollback();
  statements_.clear();
  db_.reset();
  return fail(Errc::unavailable, "SQLite " + path_ +
                                     ": the file was removed or replaced while it was open; put it back, with the "
                                     "-wal file beside it, then repeat");
}

Result<void> Sqlite::ensure_connected() {
  if (!db_) return connect(0);  // a file that is gone is not made anew: that would begin again with nothing
  return check_file();
}

Result<void> Sqlite::plain(const char* sql) {
  start_clock();
  if (sqlite3_exec(db_.get(), sql, nullptr, nullptr, nullptr) != SQLITE_OK) return Failure(error());
  return {};
}

Result<sqlite3_stmt*> Sqlite::prepare(std::string_view sql) {
  if (Statement* known = statements_.find(sql)) return known->get();
  sqlite3_stmt* raw = nullptr;
  start_clock();
  const int code =
      sqlite3_prepare_v3(db_.get(), sql.data(), static_cast<int>(sql.size()), SQLITE_PREPARE_PERSISTENT, &raw, nullptr);
  if (code != SQLITE_OK) return Failure(error());
  Statement made(raw);
  for (int at = 1; at <= sqlite3_bind_parameter_count(raw); ++at) {
    const char* name = sqlite3_bind_parameter_name(raw, at);
    if (parameter_number(name) == 0) {
      return fail(Errc::invalid, "parameters are written $1, $2, …, not " + std::string(name == nullptr ? "?" : name));
    }
  }
  statements_.make_room();
  return statements_.add(std::string(sql), std::move(made))->get();
}

Result<void> Sqlite::bind_all(sqlite3_stmt* statement, const Values& params) const {
  for (int at = 1; at <= sqlite3_bind_parameter_count(statement); ++at) {
    const std::size_t number = parameter_number(sqlite3_bind_parameter_name(statement, at));
    CHECK(number >= 1 && number <= params.size());
    if (bind(statement, at, params[number - 1]) != SQLITE_OK) return Failure(error());
  }
  return {};
}

Result<Engine::Outcome> Sqlite::run(std::string_view sql, const Values& params) {
  const bool alone = !in_transaction();
  if (alone) TRY(ensure_connected());
  TRY_ASSIGN(statement, prepare(sql));
  const Use use(statement);
  TRY(bind_all(statement, params));
  const std::int64_t total = sqlite3_total_changes64(db_.get());
  int width = 0;
  std::vector<Values> rows;
  start_clock();
  int code = 0;
  while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
    width = sqlite3_column_count(statement);  // only now: a table may have been altered since it was prepared
    Values row;
    row.reserve(static_cast<std::size_t>(width));
    for (int column = 0; column < width; ++column) row.push_back(cell(statement, column));
    rows.push_back(std::move(row));
  }
  if (code != SQLITE_DONE) {
    return Failure(alone && sqlite3_stmt_readonly(statement) == 0 ? commit_error() : error());
  }
  std::vector<std::string> columns;
  width = sqlite3_column_count(statement);
  columns.reserve(static_cast<std::size_t>(width));
  for (int column = 0; column < width; ++column) columns.emplace_back(sqlite3_column_name(statement, column));
  const bool changed = sqlite3_total_changes64(db_.get()) != total;
  return Outcome{Rows(std::move(columns), std::move(rows)), changed ? sqlite3_changes64(db_.get()) : 0};
}

Result<void> Sqlite::script(std::string_view sql) { return plain(std::string(sql).c_str()); }

Result<void> Sqlite::bulk_insert(const Bulk& bulk) {
  TRY_ASSIGN(table, quoted_name(bulk.table));
  TRY_ASSIGN(columns, quoted_names(bulk.columns));
  std::string sql = "INSERT INTO " + table + " (" + columns + ") VALUES (";
  for (std::size_t at = 1; at <= bulk.columns.size(); ++at) sql += (at == 1 ? "$" : ", $") + std::to_string(at);
  TRY_ASSIGN(statement, prepare(sql + ")"));
  for (const Values& row : bulk.rows) {
    const Use use(statement);
    TRY(bind_all(statement, row));
    start_clock();
    if (sqlite3_step(statement) != SQLITE_DONE) return Failure(error());
  }
  return {};
}

Result<void> Sqlite::begin() {
  TRY(ensure_connected());
  return plain("BEGIN IMMEDIATE");
}

Result<void> Sqlite::commit() {
  CHECK(in_transaction());
  TRY(check_file());
  if (!plain("COMMIT")) return Failure(commit_error());
  return {};
}

void Sqlite::rollback() {
  if (in_transaction() && !plain("ROLLBACK")) {
    statements_.clear();  // closing ends what cannot be rolled back
    db_.reset();
  }
}

}  // namespace

Result<std::unique_ptr<Engine>> open_sqlite(const SqliteUrl& url, const Options& options) {
  auto sqlite = std::make_unique<Sqlite>(url, options);
  TRY(sqlite->connect(SQLITE_OPEN_CREATE));
  return sqlite;
}

}  // namespace cadre::database
