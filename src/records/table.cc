#include "records/table.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "database/sql.h"

namespace cadre::records {
namespace {

constexpr std::array<std::size_t, 4> sizes{1, 4, 16, 64};

std::size_t index_of(std::size_t rows) {
  const auto* const at = std::find(sizes.begin(), sizes.end(), rows);
  CHECK(at != sizes.end());
  return static_cast<std::size_t>(at - sizes.begin());
}

std::string quoted(const std::string& name) { return *database::quoted_name(name); }

/// `a, b`, each by way of `spell`.
template <class Spell>
std::string list(const std::vector<std::string>& names, std::string_view separator, Spell spell) {
  std::string text;
  for (std::size_t at = 0; at < names.size(); ++at) {
    if (at > 0) text += separator;
    text += spell(names[at], at);
  }
  return text;
}

/// `($1, $2), ($3, $4)`
std::string parameters(std::size_t width, std::size_t rows) {
  std::string text;
  for (std::size_t at = 0; at < width * rows; ++at) {
    if (at > 0) text += ", ";
    if (at % width == 0) text += '(';
    text += '$' + std::to_string(at + 1);
    if (at % width == width - 1) text += ')';
  }
  return text;
}

std::string make_insert_or_change(const std::string& table, const ColumnNames& names, std::size_t rows) {
  const auto plain = [](const std::string& name, std::size_t) { return quoted(name); };
  return "INSERT INTO " + table + " (" + list(names.all, ", ", plain) + ") VALUES " +
         parameters(names.all.size(), rows) + " ON CONFLICT (" + list(names.keys, ", ", plain) + ") DO UPDATE SET " +
         list(names.change, ", ",
              [](const std::string& name, std::size_t) { return quoted(name) + " = excluded." + quoted(name); });
}

std::string make_change(const std::string& table, const ColumnNames& names, std::size_t rows) {
  const std::size_t keys = names.keys.size(), width = keys + names.change.size();
  const auto cell = [&](std::size_t at) {
    return rows == 1 ? '$' + std::to_string(at + 1) : "new.column" + std::to_string(at + 1);
  };
  std::string text =
      "UPDATE " + table + " SET " + list(names.change, ", ", [&](const std::string& name, std::size_t at) {
        return quoted(name) + " = " + cell(keys + at);
      });
  if (rows > 1) text += " FROM (VALUES " + parameters(width, rows) + ") AS new";
  return text + " WHERE " + list(names.keys, " AND ", [&](const std::string& name, std::size_t at) {
           return table + "." + quoted(name) + " = " + cell(at);
         });
}

}  // namespace

RowList last_of_each(RowList rows, Before before) {
  const auto not_before = [&](const void* a, const void* b) { return !before(a, b); };
  if (std::adjacent_find(rows.begin(), rows.end(), not_before) == rows.end()) return rows;
  std::stable_sort(rows.begin(), rows.end(), before);
  const auto same = [&](const void* a, const void* b) { return !before(a, b) && !before(b, a); };
  rows.erase(rows.begin(), std::unique(rows.rbegin(), rows.rend(), same).base());
  return rows;
}

void sort_rows(RowList& rows, Before before) { std::sort(rows.begin(), rows.end(), before); }

TableSql::TableSql(std::string_view table, const ColumnNames& names) {
  const std::string name = quoted(std::string(table));
  for (const std::size_t rows : sizes) {
    insert_or_change_.push_back(make_insert_or_change(name, names, rows));
    change_.push_back(make_change(name, names, rows));
  }
  remove_ = "DELETE FROM " + name + " WHERE " + list(names.keys, " AND ", [](const std::string& key, std::size_t at) {
              return quoted(key) + " = $" + std::to_string(at + 1);
            });
  select_ = "SELECT " + list(names.all, ", ", [](const std::string& each, std::size_t) { return quoted(each); }) +
            " FROM " + name;
}

std::size_t TableSql::piece(std::size_t rows, Pieces pieces) {
  if (pieces == Pieces::single) return 1;
  const auto fits = std::find_if(sizes.rbegin(), sizes.rend(), [&](std::size_t size) { return size <= rows; });
  CHECK(fits != sizes.rend());
  return *fits;
}

const std::string& TableSql::insert_or_change(std::size_t rows) const { return insert_or_change_[index_of(rows)]; }

const std::string& TableSql::change(std::size_t rows) const { return change_[index_of(rows)]; }

}  // namespace cadre::records
