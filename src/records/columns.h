/// Takes rows apart into cells and puts them together again, from one list of columns for each kind of row:
///
///   template <class V> void columns(V& v, GroupRow& row) {
///     v.key("pool", row.pool);            // keys come first
///     v.column("weight", row.settings.weight);
///   }
///
/// One thread at a time.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "database/rows.h"
#include "records/cells.h"

namespace cadre::records {

/// The visitor that learns what the columns are called.
struct ColumnNames {
  std::vector<std::string> keys;
  std::vector<std::string> all;     ///< keys included
  std::vector<std::string> change;  ///< all but the keys and those that are written once

  template <class T>
  void key(std::string_view name, T&) {
    keys.emplace_back(name);
    all.emplace_back(name);
  }
  template <class T>
  void column(std::string_view name, T&) {
    all.emplace_back(name);
    change.emplace_back(name);
  }
  /// A described value as JSON.
  template <class T>
  void json(std::string_view name, T& value) {
    column(name, value);
  }
  /// The same, written with the new row and never again.
  template <class T>
  void json_once(std::string_view name, T&) {
    all.emplace_back(name);
  }
  /// A number that is made from the row, written with the new row and never again, and not read back.
  template <class Make>
  void made_once(std::string_view name, Make) {
    all.emplace_back(name);
  }
  template <class Act>
  void when_read(std::string_view, Act) {}
};

/// The visitor that adds the cells of one row to `out`.
class CellWriter {
 public:
  enum class For { new_row, change, key };
  CellWriter(database::Values& out, For purpose) : out_(out), purpose_(purpose) {}

  template <class T>
  void key(std::string_view name, const T& value) {
    auto cell = Cell<T>::to_cell(value);
    if (!cell && !problem_) problem_ = Error{cell.error().code, std::string(name) + ": " + cell.error().message};
    out_.push_back(cell ? *std::move(cell) : database::Value());
  }
  template <class T>
  void column(std::string_view name, const T& value) {
    if (purpose_ != For::key) key(name, value);
  }
  template <class T>
  void json(std::string_view, const T& value) {
    if (purpose_ != For::key) out_.emplace_back(describe::write_json(value));
  }
  template <class T>
  void json_once(std::string_view name, const T& value) {
    if (purpose_ == For::new_row) json(name, value);
  }
  template <class Make>
  void made_once(std::string_view name, Make make) {
    if (purpose_ == For::new_row) column(name, make());
  }
  template <class Act>
  void when_read(std::string_view, Act) {}

  const std::optional<Error>& problem() const { return problem_; }

 private:
  database::Values& out_;
  For purpose_;
  std::optional<Error> problem_;
};

/// The visitor that fills one row from the cells of all its columns; remembers the first that is wrong.
class CellReader {
 public:
  explicit CellReader(const database::Row& row) : cells_(row.cells()) {}

  template <class T>
  void key(std::string_view name, T& value) {
    note_key();
    column(name, value);
  }
  template <class T>
  void column(std::string_view name, T& value) {
    check(name, Cell<T>::from_cell(next(), value));
  }
  template <class T>
  void json(std::string_view name, T& value) {
    check(name, read_json(next(), value));
  }
  template <class T>
  void json_once(std::string_view name, T& value) {
    json(name, value);
  }
  template <class Make>
  void made_once(std::string_view, Make) {
    next();
  }
  /// For what several columns make up; `name` is blamed when `act` fails.
  template <class Act>
  void when_read(std::string_view name, Act act) {
    if (!problem_) check(name, act());
  }

  /// `table t, row 17.0, column c: …`
  [[nodiscard]] Result<void> finish(std::string_view table) const;

 private:
  template <class T>
  static Result<void> read_json(const database::Value& cell, T& value) {
    TRY_ASSIGN(text, held<std::string>(cell));
    auto read = describe::read_json_of_peer<T>(*text);
    if (!read) return fail(Errc::corrupt, describe::to_error(read.error(), "").message);
    value = *std::move(read);
    return {};
  }
  const database::Value& next();
  void note_key();
  void check(std::string_view column, const Result<void>& read);

  const database::Values& cells_;
  std::size_t at_ = 0;
  std::string key_;
  std::string column_;
  std::optional<Error> problem_;
};

}  // namespace cadre::records
