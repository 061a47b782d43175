/// Fills structs from a tree of values and finds all faults at once. Safe on any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

#include "describe/fault.h"
#include "describe/kinds.h"
#include "describe/value.h"

namespace cadre::describe {

/// What becomes of a key that no field takes. What people write is checked strictly, so that a typing error is found.
/// Between processes unknown keys are ignored, so that a peer of another version may say more.
enum class UnknownKeys : std::uint8_t { refused, ignored };

/// Where a value stands and where its faults go.
struct Place {
  const Path& path;
  Faults& faults;
  UnknownKeys unknown_keys = UnknownKeys::refused;

  /// The same for a value inside of this one.
  Place at(const Path& inner) const { return {inner, faults, unknown_keys}; }
  void fault(const Value& value, std::string message) const;
  const Value::List* list(const Value& value) const;  ///< null, and a fault, when it is not one
  const Value::Map* map(const Value& value) const;
  /// Which of the names stands under the key `type`; names.size(), and a fault, when none does.
  std::size_t choice(const Value& value, std::span<const std::string_view> names) const;
  void check_size(const Value& value, const Limits& limits, std::size_t size) const;
};

template <class T>
void read_into(const Value& value, T& out, const Limits& limits, const Place& place);

/// The visitor that reads one struct.
class RecordReader {
 public:
  enum class Tag : std::uint8_t { none, type };  ///< whether the key `type` belongs to a choice around the struct

  RecordReader(const Value& record, const Place& place, Tag tag);

  template <class T, class... Checks>
  void field(std::string_view key, T& member, std::string_view, const Checks&... checks) {
    const Value* value = take(key);
    if (value == nullptr) value = take_former(checks...);
    if (value != nullptr) read_member(key, *value, member, limits_of<T>(checks...));
  }

  template <class T, class... Checks>
  void required(std::string_view key, T& member, std::string_view doc, const Checks&... checks) {
    if (const Value* value = take(key)) return read_member(key, *value, member, limits_of<T>(checks...));
    missing(key, doc);
  }

  void check(bool holds, std::string_view key, std::string_view message);

  /// Finds the keys that no field took, unless they are ignored.
  void finish();

 private:
  template <class T>
  void read_member(std::string_view key, const Value& value, T& member, const Limits& limits) {
    const Path path(place_.path, key);
    read_into(value, member, limits, place_.at(path));
  }

  const Value* take(std::string_view key);
  static std::string_view former_key(const Formerly& former) { return former.key; }
  template <class Check>
  static std::string_view former_key(const Check&) {
    return {};
  }
  template <class... Checks>
  const Value* take_former(const Checks&... checks) {
    std::string_view key;
    ((key = key.empty() ? former_key(checks) : key), ...);
    return key.empty() ? nullptr : take(key);
  }
  void missing(std::string_view key, std::string_view doc);

  const Value& record_;
  const Value::Map& entries_;
  const Place& place_;
  std::size_t faults_before_;
  std::size_t next_ = 0;  ///< where the next key is looked for first: texts mostly keep the order of the struct
  std::size_t taken_count_ = 0;
  std::vector<bool> taken_;
  std::vector<std::string_view> known_;
};

template <Described T>
void read_record(const Value& value, T& out, const Place& place, RecordReader::Tag tag) {
  if (place.map(value) == nullptr) return;
  RecordReader reader(value, place, tag);
  describe(reader, out);
  reader.finish();
}

template <IsScalar T>
void read_scalar(const Value& value, T& out, const Limits& limits, const Place& place) {
  auto result = [&] {
    if constexpr (WholeNumber<T>)
      return Scalar<T>::read(value, limits);
    else
      return Scalar<T>::read(value);
  }();
  if (!result) return place.fault(value, std::move(result).error().message);
  if constexpr (HasAmount<T> && !WholeNumber<T>) {
    if (std::string wrong = broken(limits, Scalar<T>::amount(*result)); !wrong.empty()) place.fault(value, wrong);
  }
  if constexpr (HasSize<T>) place.check_size(value, limits, Scalar<T>::size(*result));
  out = *std::move(result);
}

template <class T>
void read_list(const Value& value, std::vector<T>& out, const Limits& limits, const Place& place) {
  const Value::List* list = place.list(value);
  if (list == nullptr) return;
  out.clear();
  for (std::size_t i = 0; i < list->size(); ++i) {
    T item{};
    const Path path(place.path, i);
    read_into((*list)[i], item, Limits{}, place.at(path));
    out.push_back(std::move(item));
  }
  place.check_size(value, limits, list->size());
}

template <class K, class T>
void read_map(const Value& value, std::map<K, T>& out, const Limits& limits, const Place& place) {
  const Value::Map* map = place.map(value);
  if (map == nullptr) return;
  out.clear();
  for (const Entry& entry : *map) {
    const Path path(place.path, entry.key);
    read_into(entry.value, out[K(entry.key)], Limits{}, place.at(path));
  }
  place.check_size(value, limits, map->size());
}

template <class... Ts>
void read_alternative(const Value& value, std::variant<Ts...>& out, const Place& place) {
  std::size_t at = place.choice(value, Kind<std::variant<Ts...>>::names);
  const auto try_one = [&]<class T>(std::type_identity<T>) {
    if (at-- == 0) read_record(value, out.template emplace<T>(), place, RecordReader::Tag::type);
  };
  (try_one(std::type_identity<Ts>{}), ...);
}

template <class T>
void read_into(const Value& value, T& out, const Limits& limits, const Place& place) {
  if constexpr (IsScalar<T>) {
    read_scalar(value, out, limits, place);
  } else if constexpr (IsList<T>) {
    read_list(value, out, limits, place);
  } else if constexpr (IsMap<T>) {
    read_map(value, out, limits, place);
  } else if constexpr (IsOptional<T>) {
    out.reset();
    if (!value.is_null()) read_into(value, out.emplace(), limits, place);
  } else if constexpr (IsChoice<T>) {
    read_alternative(value, out, place);
  } else {
    static_assert(Described<T>, "give the type a describe(), an enum_names() or a Scalar");
    read_record(value, out, place, RecordReader::Tag::none);
  }
}

template <class T>
[[nodiscard]] tl::expected<T, Faults> read_with(const Value& value, UnknownKeys unknown_keys) {
  T out{};
  Faults faults;
  const Path path;
  read_into(value, out, Limits{}, Place{path, faults, unknown_keys});
  if (!faults.empty()) return tl::unexpected(std::move(faults));
  return out;
}

/// What people write.
template <class T>
[[nodiscard]] tl::expected<T, Faults> read(const Value& value) {
  return read_with<T>(value, UnknownKeys::refused);
}

/// What another cadre process has written, maybe one of another version.
template <class T>
[[nodiscard]] tl::expected<T, Faults> read_of_peer(const Value& value) {
  return read_with<T>(value, UnknownKeys::ignored);
}

}  // namespace cadre::describe
