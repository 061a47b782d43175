/// The answer to a query, read cell by cell with its type checked. Values; one thread at a time.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "database/value.h"

namespace cadre::database {

/// One row, borrowed from its Rows.
class Row {
 public:
  Row(const std::vector<std::string>& columns, const Values& cells) : columns_(&columns), cells_(&cells) {}

  const Values& cells() const { return *cells_; }

  /// T is bool, std::int64_t, double, std::string, std::string_view, Bytes, BytesView, or a std::optional of one, which
  /// alone takes null. Nothing is converted: a wrong kind is Errc::corrupt, a column that is not there Errc::invalid.
  template <class T>
  [[nodiscard]] Result<T> get(std::size_t column) const;
  template <class T>
  [[nodiscard]] Result<T> get(std::string_view column) const {
    TRY_ASSIGN(at, find(column));
    return get<T>(at);
  }

  /// All columns at once: `TRY_ASSIGN(cells, row.read<std::int64_t, std::string>());`.
  template <class... Ts>
  [[nodiscard]] Result<std::tuple<Ts...>> read() const {
    if (sizeof...(Ts) != cells_->size()) return Failure(wrong_width(sizeof...(Ts)));
    return read_all<Ts...>(std::index_sequence_for<Ts...>{});
  }

 private:
  template <class... Ts, std::size_t... At>
  Result<std::tuple<Ts...>> read_all(std::index_sequence<At...>) const;
  Result<std::size_t> find(std::string_view column) const;
  Error wrong_kind(std::size_t column, const Value& wanted) const;
  Error wrong_width(std::size_t wanted) const;

  const std::vector<std::string>* columns_;
  const Values* cells_;
};

class Rows {
 public:
  class Iterator {
   public:
    Iterator(const Rows* rows, std::size_t at) : rows_(rows), at_(at) {}
    Row operator*() const { return (*rows_)[at_]; }
    Iterator& operator++() { return ++at_, *this; }
    bool operator==(const Iterator&) const = default;

   private:
    const Rows* rows_;
    std::size_t at_;
  };

  Rows() = default;
  Rows(std::vector<std::string> columns, std::vector<Values> rows)
      : columns_(std::move(columns)), rows_(std::move(rows)) {}

  std::size_t size() const { return rows_.size(); }
  bool empty() const { return rows_.empty(); }
  const std::vector<std::string>& columns() const { return columns_; }
  const std::vector<Values>& cells() const { return rows_; }
  Row operator[](std::size_t row) const { return {columns_, rows_.at(row)}; }
  Iterator begin() const { return {this, 0}; }
  Iterator end() const { return {this, rows_.size()}; }

  /// The only row; Errc::not_found when there is none, Errc::invalid when there are more.
  [[nodiscard]] Result<Row> one() const;

 private:
  std::vector<std::string> columns_;
  std::vector<Values> rows_;
};

// ── how it is done ──

template <class T>
struct Cell {  // how T is held in a Value
  using Held = T;
};
template <>
struct Cell<bool> {
  using Held = std::int64_t;
};
template <>
struct Cell<std::string_view> {
  using Held = std::string;
};
template <>
struct Cell<BytesView> {
  using Held = Bytes;
};
template <class T>
struct Cell<std::optional<T>> {
  using Held = typename Cell<T>::Held;
  using Inner = T;
};

template <class T>
Result<T> Row::get(std::size_t column) const {
  using Held = typename Cell<T>::Held;
  constexpr bool optional = requires { typename Cell<T>::Inner; };
  if (column >= cells_->size()) return Failure(wrong_kind(column, {}));
  const Value& cell = (*cells_)[column];
  if constexpr (optional) {
    if (std::holds_alternative<Null>(cell)) return T{};
  }
  const Held* held = std::get_if<Held>(&cell);
  if (held == nullptr) return Failure(wrong_kind(column, Held{}));
  if constexpr (std::is_same_v<T, bool>) {
    return *held != 0;
  } else if constexpr (optional) {
    return T(typename Cell<T>::Inner(*held));
  } else {
    return T(*held);
  }
}

template <class... Ts, std::size_t... At>
Result<std::tuple<Ts...>> Row::read_all(std::index_sequence<At...>) const {
  std::tuple<Result<Ts>...> cells{get<Ts>(At)...};
  std::optional<Error> error;
  const auto look = [&error](const auto& cell) {
    if (!cell && !error) error = cell.error();
  };
  (look(std::get<At>(cells)), ...);
  if (error) return Failure(*std::move(error));
  return std::tuple<Ts...>{*std::move(std::get<At>(cells))...};
}

}  // namespace cadre::database
