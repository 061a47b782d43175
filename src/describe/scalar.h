/// How one value stands in a tree as one node: read, written, named in docs and in JSON Schema. Specialise Scalar for
/// a type of your own; the types below have theirs. Safe on any thread.
#pragma once

#include <array>
#include <chrono>
#include <concepts>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/id.h"
#include "base/result.h"
#include "base/time.h"
#include "describe/checks.h"
#include "describe/value.h"

namespace cadre::describe {

/// A specialisation has
///   static std::string type_name();             for people: "whole number"
///   static Value schema();                      a JSON Schema of what read takes
///   static Result<T> read(const Value&);        the error's message says what is wrong and the remedy
///   static Value write(const T&);               what read takes back to the same value
/// and may have
///   static Amount amount(const T&);             then range, at_least and above apply
///   static std::size_t size(const T&);          then length and not_empty apply
///   static T random(Dice&, const Limits&);      then random.h makes some; limits may be missed now and then
template <class T>
struct Scalar;

template <class T>
concept IsScalar = requires(const Value& value, const T& t) {
  { Scalar<T>::read(value) } -> std::same_as<Result<T>>;
  { Scalar<T>::write(t) } -> std::same_as<Value>;
};

template <class T>
concept HasAmount = requires(const T& t) {
  { Scalar<T>::amount(t) } -> std::same_as<Amount>;
};

template <class T>
concept HasSize = requires(const T& t) {
  { Scalar<T>::size(t) } -> std::same_as<std::size_t>;
};

/// An enum whose names are declared once, beside it:
///   constexpr auto enum_names(Fitting) { return std::array{std::pair{Fitting::best, "best"}, ...}; }
template <class T>
concept NamedEnum = std::is_enum_v<T> && requires {
  enum_names(T{});
};

template <class T>
concept WholeNumber =
    std::integral<T> && !std::same_as<T, bool> && !std::same_as<T, char> && !std::same_as<T, char8_t> &&
    !std::same_as<T, char16_t> && !std::same_as<T, char32_t> && !std::same_as<T, wchar_t>;

/// The work behind the templates.
[[nodiscard]] Failure mismatch(std::string_view expected, const Value& value);
[[nodiscard]] Result<Amount> read_whole(const Value& value, const Limits& limits);
[[nodiscard]] Result<std::string> read_text(const Value& value);
[[nodiscard]] Result<std::size_t> read_choice(const Value& value, std::span<const std::string_view> names);
[[nodiscard]] Value whole_schema(Amount low, Amount high);
[[nodiscard]] Value choice_schema(std::span<const std::string_view> names);
[[nodiscard]] std::string choice_type_name(std::span<const std::string_view> names);

template <>
struct Scalar<bool> {
  static std::string type_name() { return "true or false"; }
  static Value schema();
  static Result<bool> read(const Value& value);
  static Value write(bool truth) { return Value(truth); }
};

template <WholeNumber T>
struct Scalar<T> {
  static std::string type_name() { return "whole number"; }
  static AmountCheck type_range() { return range(std::numeric_limits<T>::min(), std::numeric_limits<T>::max()); }
  static Value schema() { return whole_schema(*type_range().low, *type_range().high); }
  static Result<T> read(const Value& value) { return read(value, Limits{}); }
  /// With limits, so that a fault names the narrower of the type's and the field's.
  static Result<T> read(const Value& value, Limits limits) {
    narrow(limits, type_range());
    return read_whole(value, limits).map([](Amount number) { return static_cast<T>(number.value); });
  }
  static Value write(T number) { return Value(number); }
  static Amount amount(T number) { return number; }
};

template <>
struct Scalar<double> {
  static std::string type_name() { return "number"; }
  static Value schema();
  static Result<double> read(const Value& value);
  static Value write(double number) { return Value(number); }
  static Amount amount(double number) { return number; }
};

template <>
struct Scalar<std::string> {
  static std::string type_name() { return "text"; }
  static Value schema();
  static Result<std::string> read(const Value& value) { return read_text(value); }
  static Value write(const std::string& text) { return Value(text); }
  static std::size_t size(const std::string& text);
};

/// A value of any kind, for what is described elsewhere.
template <>
struct Scalar<Value> {
  static std::string type_name() { return "any value"; }
  static Value schema() { return Value(Value::Map{}); }
  static Result<Value> read(const Value& value) { return value; }
  static Value write(const Value& value) { return value; }
};

template <class Tag>
struct Scalar<Name<Tag>> {
  static std::string type_name() { return "name"; }
  static Value schema() { return Scalar<std::string>::schema(); }
  static Result<Name<Tag>> read(const Value& value) {
    return read_text(value).map([](std::string text) { return Name<Tag>(std::move(text)); });
  }
  static Value write(const Name<Tag>& name) { return Value(name.value); }
  static std::size_t size(const Name<Tag>& name) { return Scalar<std::string>::size(name.value); }
};

template <class Tag>
struct Scalar<Id<Tag>> {
  static std::string type_name() { return "id"; }
  static Value schema() { return Scalar<std::uint64_t>::schema(); }
  static Result<Id<Tag>> read(const Value& value) {
    return Scalar<std::uint64_t>::read(value).map([](std::uint64_t number) { return Id<Tag>{number}; });
  }
  static Value write(Id<Tag> id) { return Value(id.value); }
};

template <>
struct Scalar<Duration> {
  static std::string type_name() { return "duration (`90s`, `1h30m`)"; }
  static Value schema();
  static Result<Duration> read(const Value& value);
  static Value write(Duration duration) { return Value(to_string(duration)); }
  static Amount amount(Duration duration) { return duration; }
};

/// A time counted from 1970.
template <>
struct Scalar<TimePoint> {
  static std::string type_name() { return "time (`2026-11-15T11:31:10Z`)"; }
  static Value schema();
  static Result<TimePoint> read(const Value& value);
  static Value write(TimePoint time) { return Value(to_utc(time)); }
};

template <>
struct Scalar<ByteSize> {
  static std::string type_name() { return "size (`512`, `16GiB`)"; }
  static Value schema();
  static Result<ByteSize> read(const Value& value);
  static Value write(ByteSize size);
  static Amount amount(ByteSize size) { return size; }
};

template <>
struct Scalar<Bytes> {
  static std::string type_name() { return "bytes (base64)"; }
  static Value schema();
  static Result<Bytes> read(const Value& value);
  static Value write(const Bytes& bytes) { return Value(bytes); }
  static std::size_t size(const Bytes& bytes) { return bytes.size(); }
};

/// The names of an enum, in the order of their declaration.
template <NamedEnum E>
std::span<const std::string_view> names_of() {
  static constexpr auto names = [] {
    constexpr auto pairs = enum_names(E{});
    std::array<std::string_view, pairs.size()> list{};
    for (std::size_t i = 0; i < pairs.size(); ++i) list[i] = pairs[i].second;
    return list;
  }();
  return names;
}

template <NamedEnum E>
std::string_view name_of(E value) {
  constexpr auto pairs = enum_names(E{});
  for (const auto& [each, name] : pairs) {
    if (each == value) return name;
  }
  return {};
}

template <NamedEnum E>
struct Scalar<E> {
  static std::string type_name() { return choice_type_name(names_of<E>()); }
  static Value schema() { return choice_schema(names_of<E>()); }
  static Result<E> read(const Value& value) {
    return read_choice(value, names_of<E>()).map([](std::size_t at) { return enum_names(E{})[at].first; });
  }
  static Value write(E value) { return Value(name_of(value)); }
};

}  // namespace cadre::describe
