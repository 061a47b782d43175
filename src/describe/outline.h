/// What a described type looks like, as plain data: the source of its JSON Schema and its reference page. Safe on any
/// thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "describe/types.h"
#include "describe/value.h"

namespace cadre::describe {

struct FieldShape;

struct Shape {
  enum class Kind : std::uint8_t {
    scalar,
    list,
    map,
    optional,
    record,
    choice,
    again,  ///< a record that this stands inside of
  };

  Kind kind = Kind::scalar;
  std::string name{};              ///< of a scalar's type, for people; of a record in a choice
  std::string doc{};               ///< of a record
  Value schema{};                  ///< of a scalar
  const void* identity = nullptr;  ///< of a record: the same for the same type
  std::vector<Shape> parts{};      ///< what a list, map or optional holds; the records of a choice
  std::vector<FieldShape> fields;  ///< of a record
};

struct FieldShape {
  std::string key;
  std::string doc;
  bool is_required = false;
  Limits limits{};
  Value initial{};  ///< null where there is none
  Shape shape{};
};

[[nodiscard]] Shape outline(const Type& type);

template <class T>
[[nodiscard]] Shape outline() {
  return outline(type_of<T>());
}

}  // namespace cadre::describe
