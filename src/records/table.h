/// Writes and reads rows of one kind in few statements, whose texts are made once and prepared once. One thread at a
/// time for one Transaction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "database/database.h"
#include "records/columns.h"

namespace cadre::records {

/// How many rows go into one statement. A server is a journey away: many. SQLite is here: one, which costs it least.
enum class Pieces : std::uint8_t { single, large };

/// The texts for one table, by how many rows they take.
class TableSql {
 public:
  TableSql(std::string_view table, const ColumnNames& names);

  /// The most rows of the sizes there are that `rows` fill.
  static std::size_t piece(std::size_t rows, Pieces pieces);

  const std::string& insert_or_change(std::size_t rows) const;
  const std::string& change(std::size_t rows) const;
  /// `DELETE FROM table WHERE key = $1`, for one row.
  const std::string& remove() const { return remove_; }
  /// `SELECT all columns FROM table`
  const std::string& select() const { return select_; }

 private:
  std::vector<std::string> insert_or_change_;
  std::vector<std::string> change_;
  std::string remove_;
  std::string select_;
};

template <class Row>
const TableSql& sql_of() {
  static const TableSql sql = [] {
    Row row;
    ColumnNames names;
    columns(names, row);
    return TableSql(table_of(row), names);
  }();
  return sql;
}

/// Rows of one type by their addresses, so that sorting is not compiled again for each type.
using RowList = std::vector<const void*>;
using Before = bool (*)(const void* a, const void* b);

template <class Row>
RowList list_of(const std::vector<Row>& rows) {
  RowList list;
  list.reserve(rows.size());
  for (const Row& row : rows) list.push_back(&row);
  return list;
}

template <class Row>
bool has_smaller_key(const void* a, const void* b) {
  return key_of(*static_cast<const Row*>(a)) < key_of(*static_cast<const Row*>(b));
}

/// Each key once, with what was said last; a statement must not write a row twice.
[[nodiscard]] RowList last_of_each(RowList rows, Before before);

void sort_rows(RowList& rows, Before before);

/// Here and not by the database: there the order of names depends on its settings.
template <class Row>
void sort_by_key(std::vector<Row>& rows) {
  RowList list = list_of(rows);
  sort_rows(list, has_smaller_key<Row>);
  std::vector<Row> sorted;
  sorted.reserve(rows.size());
  for (const void* row : list) sorted.push_back(std::move(*static_cast<Row*>(const_cast<void*>(row))));
  rows = std::move(sorted);
}

template <class Row>
[[nodiscard]] Result<database::Values> cells_of(std::span<const void* const> rows, CellWriter::For purpose) {
  database::Values cells;
  for (const void* at : rows) {
    Row& row = *static_cast<Row*>(const_cast<void*>(at));  // one columns() for all visitors; this one only reads
    CellWriter writer(cells, purpose);
    columns(writer, row);
    if (rows.size() > 1 && at == rows.front()) cells.reserve(cells.size() * rows.size());
    if (const auto& problem = writer.problem()) {
      return fail(problem->code, "table " + std::string(table_of(row)) + ", column " + problem->message);
    }
  }
  return cells;
}

/// New rows, and old ones with what is new in them.
template <class Row>
[[nodiscard]] Result<void> put(database::Transaction& transaction, const std::vector<Row>& rows, Pieces pieces) {
  const RowList list = last_of_each(list_of(rows), has_smaller_key<Row>);
  for (std::span<const void* const> left(list); !left.empty();) {
    const std::size_t count = TableSql::piece(left.size(), pieces);
    TRY_ASSIGN(cells, cells_of<Row>(left.first(count), CellWriter::For::new_row));
    TRY(transaction.exec(sql_of<Row>().insert_or_change(count), cells));
    left = left.subspan(count);
  }
  return {};
}

/// Rows that are there already; Errc::not_found when one is not.
template <class Row>
[[nodiscard]] Result<void> change(database::Transaction& transaction, const std::vector<Row>& rows, Pieces pieces) {
  const RowList list = last_of_each(list_of(rows), has_smaller_key<Row>);
  for (std::span<const void* const> left(list); !left.empty();) {
    const std::size_t count = TableSql::piece(left.size(), pieces);
    TRY_ASSIGN(cells, cells_of<Row>(left.first(count), CellWriter::For::change));
    TRY_ASSIGN(changed, transaction.exec(sql_of<Row>().change(count), cells));
    if (changed != static_cast<std::int64_t>(count)) {
      return fail(Errc::not_found, "table " + std::string(table_of(Row())) + ": " + std::to_string(count) +
                                       " rows are to change, of which " + std::to_string(changed) + " are there");
    }
    left = left.subspan(count);
  }
  return {};
}

/// Rows whose keys these have, as far as they are there.
template <class Row>
[[nodiscard]] Result<void> remove(database::Transaction& transaction, const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    const void* const one = &row;
    TRY_ASSIGN(cells, cells_of<Row>(std::span(&one, 1), CellWriter::For::key));
    TRY(transaction.exec(sql_of<Row>().remove(), cells));
  }
  return {};
}

/// `where` follows the text of TableSql::select.
template <class Row>
[[nodiscard]] Result<void> get(database::Transaction& transaction, std::string_view where,
                               const database::Values& params, std::vector<Row>& into) {
  TRY_ASSIGN(found, transaction.query(sql_of<Row>().select() + " " + std::string(where), params));
  for (const database::Row cells : found) {
    Row row;
    CellReader reader(cells);
    columns(reader, row);
    TRY(reader.finish(table_of(row)));
    into.push_back(std::move(row));
  }
  return {};
}

}  // namespace cadre::records
