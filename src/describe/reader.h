/// Fills structs from a tree of values and finds all faults at once. Safe on any thread.
#pragma once

#include <tl/expected.hpp>
#include <utility>

#include "describe/fault.h"
#include "describe/place.h"
#include "describe/types.h"
#include "describe/value.h"

namespace cadre::describe {

/// Reads into what `out` points to, which is of that type.
void read_into(const Value& value, const Type& type, void* out, const Limits& limits, const Place& place);

template <class T>
void read_into(const Value& value, T& out, const Place& place) {
  read_into(value, type_of<T>(), &out, Limits{}, place);
}

template <class T>
[[nodiscard]] tl::expected<T, Faults> read_with(const Value& value, UnknownKeys unknown_keys) {
  T out{};
  Faults faults;
  const Path path;
  read_into(value, out, Place{path, faults, unknown_keys});
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
