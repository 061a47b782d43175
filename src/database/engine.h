/// What a database engine does for Database, which alone calls it and has checked the arguments: SQL, parameters and
/// values. One thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "database/options.h"
#include "database/rows.h"
#include "database/url.h"

namespace cadre::database {

/// Many rows for one table.
struct Bulk {
  std::string_view table;
  std::span<const std::string> columns;
  std::span<const Values> rows;
};

class Engine {
 public:
  struct Outcome {
    Rows rows;
    std::int64_t changed = 0;
  };

  virtual ~Engine() = default;

  /// Outside a transaction a statement is one of its own.
  [[nodiscard]] virtual Result<Outcome> run(std::string_view sql, const Values& params) = 0;

  /// Connects anew when the connection was lost.
  [[nodiscard]] virtual Result<void> begin() = 0;
  [[nodiscard]] virtual Result<void> commit() = 0;
  /// Also after a loss; leaves no transaction behind in any case.
  virtual void rollback() = 0;

  // Within a transaction only; when one fails, nothing but rollback follows.
  [[nodiscard]] virtual Result<void> script(std::string_view sql) = 0;
  [[nodiscard]] virtual Result<void> bulk_insert(const Bulk& bulk) = 0;
  [[nodiscard]] virtual Result<void> lock(std::string_view table) = 0;

  /// Where the data is, for messages; without a password.
  virtual std::string_view place() const = 0;
};

[[nodiscard]] Result<std::unique_ptr<Engine>> open_sqlite(const SqliteUrl& url, const Options& options);
[[nodiscard]] Result<std::unique_ptr<Engine>> open_postgres(const PostgresUrl& url, const Options& options);

}  // namespace cadre::database
