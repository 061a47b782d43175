#include "database/migrate.h"

#include <array>
#include <charconv>
#include <string>

#include "base/hash.h"

namespace cadre::database {
namespace {

constexpr int attempts_max = 20;
constexpr std::string_view make_table =
    "CREATE TABLE IF NOT EXISTS cadre_schema (version BIGINT PRIMARY KEY, name TEXT NOT NULL, checksum TEXT NOT NULL)";

std::string checksum(std::string_view text) {
  std::array<char, 16> digits;
  const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), fnv1a(text), 16);
  static_cast<void>(error);  // 16 digits hold 64 bits
  return {digits.data(), end};
}

Result<void> check_numbers(std::span<const Migration> steps) {
  for (std::size_t at = 0; at < steps.size(); ++at) {
    if (steps[at].version == static_cast<std::int64_t>(at) + 1) continue;
    return fail(Errc::invalid, "migration '" + std::string(steps[at].name) + "' has version " +
                                   std::to_string(steps[at].version) + ", not " + std::to_string(at + 1));
  }
  return {};
}

/// How many of `steps` were applied, having checked that they are these.
Result<std::size_t> applied(Transaction& transaction, std::span<const Migration> steps, std::string_view place) {
  TRY_ASSIGN(rows, transaction.query("SELECT version, name, checksum FROM cadre_schema ORDER BY version"));
  if (rows.size() > steps.size()) {
    return fail(Errc::invalid, "the database " + std::string(place) + " has schema version " +
                                   std::to_string(rows.size()) + ", this program knows versions up to " +
                                   std::to_string(steps.size()) +
                                   "; run a newer release of cadre, or restore a backup made before the upgrade");
  }
  for (std::size_t at = 0; at < rows.size(); ++at) {
    TRY_ASSIGN(cells, (rows[at].read<std::int64_t, std::string, std::string>()));
    const auto& [version, name, sum] = cells;
    if (version == steps[at].version && sum == checksum(steps[at].sql)) continue;
    return fail(Errc::invalid, "the database " + std::string(place) + " was brought to version " +
                                   std::to_string(version) + " by another step ('" + name +
                                   "') than this program's ('" + std::string(steps[at].name) +
                                   "'); run the release of cadre that made it, or restore a backup");
  }
  return rows.size();
}

/// The version of the step that was applied; 0 when none was missing.
Result<std::int64_t> apply_next(Transaction& transaction, std::span<const Migration> steps, std::string_view place) {
  TRY(transaction.lock("cadre_schema"));  // before the first look: whoever waits here must see what the other did
  TRY_ASSIGN(done, applied(transaction, steps, place));
  if (done == steps.size()) return 0;
  const Migration& step = steps[done];
  if (auto applied_now = transaction.script(step.sql); !applied_now) {
    return fail(applied_now.error().code, "migration " + std::to_string(step.version) + " ('" + std::string(step.name) +
                                              "'): " + applied_now.error().message);
  }
  TRY(transaction.exec("INSERT INTO cadre_schema (version, name, checksum) VALUES ($1, $2, $3)",
                       {step.version, std::string(step.name), checksum(step.sql)}));
  return step.version;
}

Result<void> ensure_table(Database& database) {
  // Two at once may meet in PostgreSQL's own catalogue: a conflict that a repetition ends.
  return repeat_on_conflict(database, attempts_max, [](Transaction& transaction) -> Result<void> {
    TRY(transaction.exec(make_table));
    return {};
  });
}

}  // namespace

Result<void> migrate(Database& database, std::span<const Migration> steps, Log& log) {
  TRY(check_numbers(steps));
  TRY(ensure_table(database));
  for (;;) {
    TRY_ASSIGN(version, repeat_on_conflict(database, attempts_max, [&](Transaction& transaction) {
                 return apply_next(transaction, steps, database.place());
               }));
    if (version == 0) return {};
    log.info("the database " + std::string(database.place()) + " is now at schema version " + std::to_string(version));
  }
}

Result<std::int64_t> schema_version(Database& database) {
  TRY(ensure_table(database));
  TRY_ASSIGN(rows, database.query("SELECT count(*) FROM cadre_schema"));
  TRY_ASSIGN(row, rows.one());
  return row.get<std::int64_t>(0);
}

}  // namespace cadre::database
