/// Reads rows of a declared type on the connection of a bulk service. For the thread of the service.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "master/bulk/bulk_database.h"
#include "records/table.h"

namespace cadre::master {

/// `where` follows `SELECT all columns FROM table`. The list in the column `unread` is left empty.
template <class Row>
[[nodiscard]] Result<std::vector<Row>> select_rows(BulkDatabase& database, std::string_view where,
                                                   const database::Values& params, std::string_view unread = {}) {
  std::string sql = records::sql_of<Row>().select() + " " + std::string(where);
  const std::string column = '"' + std::string(unread) + '"';
  if (const std::size_t at = sql.find(column); at != std::string::npos) sql.replace(at, column.size(), "'[]'");
  TRY_ASSIGN(found, database.query(sql, params));
  std::vector<Row> rows;
  rows.reserve(found.size());
  for (const database::Row cells : found) {
    Row row;
    records::CellReader reader(cells);
    columns(reader, row);
    TRY(reader.finish(table_of(row)));
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace cadre::master
