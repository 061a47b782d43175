#include "database/migrate.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>

#include "base/hash.h"

namespace cadre::database {
namespace {

constexpr int attempts_max = 20;

/// The table that remembers the steps of a schema; its name is checked to be one word.
std::string table_of(const std::string& schema) { return schema.empty() ? "cadre_schema" : "cadre_schema_" + schema; }

bool is_word(const std::string& schema) {
  return std::all_of(schema.begin(), schema.end(), [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; });
}

/// `schema version 3`, or `schema version 3 of counter`.
std::string words_of(const std::string& schema, std::int64_t version) {
  return "schema version " + std::to_string(version) + (schema.empty() ? "" : " of " + schema);
}

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
Result<std::size_t> applied(Transaction& transaction, const std::string& schema, std::span<const Migration> steps,
                            std::string_view place) {
  TRY_ASSIGN(rows, transaction.query("SELECT version, name, checksum FROM " + table_of(schema) + " ORDER BY version"));
  if (rows.size() > steps.size()) {
    return fail(Errc::invalid, "the database " + std::string(place) + " has " +
                                   words_of(schema, static_cast<std::int64_t>(rows.size())) +
                                   ", this program knows versions up to " + std::to_string(steps.size()) +
                                   "; run a newer release of cadre, or restore a backup made before the upgrade");
  }
  for (std::size_t at = 0; at < rows.size(); ++at) {
    TRY_ASSIGN(cells, (rows[at].read<std::int64_t, std::string, std::string>()));
    const auto& [version, name, sum] = cells;
    if (version == steps[at].version && sum == checksum(steps[at].sql)) continue;
    return fail(Errc::invalid, "the database " + std::string(place) + " was upgraded to version " +
                                   std::to_string(version) + " by another step ('" + name +
                                   "') than this program's ('" + std::string(steps[at].name) +
                                   "'); run the release of cadre that made it, or restore a backup");
  }
  return rows.size();
}

/// The version of the step that was applied; 0 when none was missing.
Result<std::int64_t> apply_next(Transaction& transaction, const std::string& schema, std::span<const Migration> steps,
                                std::string_view place) {
  TRY(transaction.lock(table_of(schema)));  // before the first look: whoever waits here must see what the other did
  TRY_ASSIGN(done, applied(transaction, schema, steps, place));
  if (done == steps.size()) return 0;
  const Migration& step = steps[done];
  if (auto applied_now = transaction.script(step.sql); !applied_now) {
    return fail(applied_now.error().code, "migration " + std::to_string(step.version) + " ('" + std::string(step.name) +
                                              "'): " + applied_now.error().message);
  }
  TRY(transaction.exec("INSERT INTO " + table_of(schema) + " (version, name, checksum) VALUES ($1, $2, $3)",
                       {step.version, std::string(step.name), checksum(step.sql)}));
  return step.version;
}

Result<void> ensure_table(Database& database, const std::string& schema) {
  const std::string make = "CREATE TABLE IF NOT EXISTS " + table_of(schema) +
                           " (version BIGINT PRIMARY KEY, name TEXT NOT NULL, checksum TEXT NOT NULL)";
  // Two at once may meet in PostgreSQL's own catalogue: a conflict that a repetition ends.
  return repeat_on_conflict(database, attempts_max, [&](Transaction& transaction) -> Result<void> {
    TRY(transaction.exec(make));
    return {};
  });
}

}  // namespace

Result<void> migrate(Database& database, const std::string& schema, std::span<const Migration> steps, Log& log) {
  if (!is_word(schema)) return fail(Errc::invalid, "the name of schema '" + schema + "' must be lower-case letters");
  TRY(check_numbers(steps));
  TRY(ensure_table(database, schema));
  for (;;) {
    TRY_ASSIGN(version, repeat_on_conflict(database, attempts_max, [&](Transaction& transaction) {
                 return apply_next(transaction, schema, steps, database.place());
               }));
    if (version == 0) return {};
    log.info("the database " + std::string(database.place()) + " is now at " + words_of(schema, version));
  }
}

Result<std::int64_t> schema_version(Database& database, const std::string& schema) {
  TRY(ensure_table(database, schema));
  TRY_ASSIGN(rows, database.query("SELECT count(*) FROM " + table_of(schema)));
  TRY_ASSIGN(row, rows.one());
  return row.get<std::int64_t>(0);
}

}  // namespace cadre::database
