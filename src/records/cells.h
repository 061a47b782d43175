/// Values of the cores as cells of a table and back. Safe on any thread.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/bytes.h"
#include "base/id.h"
#include "base/result.h"
#include "base/time.h"
#include "cluster/ids.h"
#include "database/value.h"
#include "describe/describe.h"
#include "plan/resources.h"

namespace cadre::records {

/// What no database could give back (a NUL, bytes that are not UTF-8) is kept in base64 behind a mark, all other text
/// as it is: nothing that a user or a task says can make a transaction fail.
[[nodiscard]] std::string storable(std::string_view text);
[[nodiscard]] Result<std::string> from_storable(std::string_view text);

/// Errc::corrupt when the cell does not hold what is wanted.
template <class Held>
[[nodiscard]] Result<const Held*> held(const database::Value& cell) {
  if (const Held* found = std::get_if<Held>(&cell)) return found;
  return fail(Errc::corrupt,
              "holds " + std::string(kind_of(cell)) + " instead of " + std::string(kind_of(database::Value(Held{}))));
}

/// to_cell(value) → Result<Value>; from_cell(cell, value) → Result<void>.
template <class T>
struct Cell;

template <std::integral T>
struct Cell<T> {
  static Result<database::Value> to_cell(T number) {
    if (!std::in_range<std::int64_t>(number)) return fail(Errc::invalid, std::to_string(number) + " is too large");
    return static_cast<std::int64_t>(number);
  }
  static Result<void> from_cell(const database::Value& cell, T& number) {
    TRY_ASSIGN(found, held<std::int64_t>(cell));
    if (!std::in_range<T>(*found)) return fail(Errc::corrupt, std::to_string(*found) + " is out of range");
    number = static_cast<T>(*found);
    return {};
  }
};

template <>
struct Cell<bool> {
  static Result<database::Value> to_cell(bool truth) { return std::int64_t{truth}; }
  static Result<void> from_cell(const database::Value& cell, bool& truth) {
    TRY_ASSIGN(found, held<std::int64_t>(cell));
    if (*found != 0 && *found != 1) return fail(Errc::corrupt, std::to_string(*found) + " is neither 0 nor 1");
    truth = *found == 1;
    return {};
  }
};

template <>
struct Cell<double> {
  static Result<database::Value> to_cell(double number) { return number; }
  static Result<void> from_cell(const database::Value& cell, double& number) {
    TRY_ASSIGN(found, held<double>(cell));
    number = *found;
    return {};
  }
};

template <>
struct Cell<std::string> {
  static Result<database::Value> to_cell(const std::string& text) { return storable(text); }
  static Result<void> from_cell(const database::Value& cell, std::string& text) {
    TRY_ASSIGN(found, held<std::string>(cell));
    TRY_ASSIGN(read, from_storable(*found));
    text = std::move(read);
    return {};
  }
};

template <>
struct Cell<Bytes> {
  static Result<database::Value> to_cell(const Bytes& bytes) { return bytes; }
  static Result<void> from_cell(const database::Value& cell, Bytes& bytes) {
    TRY_ASSIGN(found, held<Bytes>(cell));
    bytes = *found;
    return {};
  }
};

template <describe::NamedEnum T>
struct Cell<T> {
  static Result<database::Value> to_cell(T value) {
    for (const auto& [each, name] : enum_names(T{})) {
      if (each == value) return std::string(name);
    }
    return fail(Errc::invalid, "has no name");
  }
  static Result<void> from_cell(const database::Value& cell, T& value) {
    TRY_ASSIGN(found, held<std::string>(cell));
    auto read = describe::Scalar<T>::read(describe::Value(*found));
    if (!read) return fail(Errc::corrupt, std::move(read).error().message);
    value = *read;
    return {};
  }
};

/// An Id, a Name, an Epoch or a ByteSize.
template <class T>
requires requires(T t) { t.value; }
struct Cell<T> {
  using Inner = Cell<decltype(T::value)>;
  static Result<database::Value> to_cell(const T& value) { return Inner::to_cell(value.value); }
  static Result<void> from_cell(const database::Value& cell, T& value) { return Inner::from_cell(cell, value.value); }
};

template <>
struct Cell<plan::Cpus> {
  static Result<database::Value> to_cell(plan::Cpus cpus) { return cpus.milli; }
  static Result<void> from_cell(const database::Value& cell, plan::Cpus& cpus) {
    return Cell<std::int64_t>::from_cell(cell, cpus.milli);
  }
};

template <>
struct Cell<Duration> {
  static Result<database::Value> to_cell(Duration duration) { return std::int64_t{duration.count()}; }
  static Result<void> from_cell(const database::Value& cell, Duration& duration) {
    TRY_ASSIGN(found, held<std::int64_t>(cell));
    duration = Duration(*found);
    return {};
  }
};

template <>
struct Cell<TimePoint> {
  static Result<database::Value> to_cell(TimePoint time) { return std::int64_t{time.time_since_epoch().count()}; }
  static Result<void> from_cell(const database::Value& cell, TimePoint& time) {
    TRY_ASSIGN(found, held<std::int64_t>(cell));
    time = TimePoint(Duration(*found));
    return {};
  }
};

/// A number that is never negative; -1 stands for none. A null would make another statement of every mixture of rows.
template <class T>
struct Cell<std::optional<T>> {
  static Result<database::Value> to_cell(const std::optional<T>& value) {
    if (!value) return std::int64_t{-1};
    TRY_ASSIGN(cell, Cell<T>::to_cell(*value));
    TRY_ASSIGN(number, held<std::int64_t>(cell));
    if (*number < 0) return fail(Errc::invalid, std::to_string(*number) + " is negative");
    return cell;
  }
  static Result<void> from_cell(const database::Value& cell, std::optional<T>& value) {
    value.reset();
    TRY_ASSIGN(number, held<std::int64_t>(cell));
    if (*number == -1) return {};
    if (*number < -1) return fail(Errc::corrupt, std::to_string(*number) + " is negative");
    return Cell<T>::from_cell(cell, value.emplace());
  }
};

}  // namespace cadre::records
