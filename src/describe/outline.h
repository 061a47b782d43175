/// What a described type looks like, as plain data: the source of its JSON Schema and its reference page. Safe on any
/// thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "describe/kinds.h"
#include "describe/value.h"
#include "describe/writer.h"

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

[[nodiscard]] Shape shape_of(Shape::Kind kind, const void* identity = nullptr);

template <class T>
inline constexpr char identity_of = 0;

/// The records that are being outlined, the innermost last.
using OpenRecords = std::vector<const void*>;

template <class T>
Shape outline_of(const T& initial, OpenRecords& open);

/// The visitor that outlines one struct.
class RecordOutline {
 public:
  RecordOutline(Shape& shape, OpenRecords& open) : shape_(shape), open_(open) {}

  template <class T, class... Checks>
  void field(std::string_view key, T& member, std::string_view doc, const Checks&... checks) {
    add({std::string(key), std::string(doc), false, limits_of<T>(checks...), write(std::as_const(member)),
         outline_of(member, open_)});
  }

  template <class T, class... Checks>
  void required(std::string_view key, T& member, std::string_view doc, const Checks&... checks) {
    add({std::string(key), std::string(doc), true, limits_of<T>(checks...), Value(), outline_of(member, open_)});
  }

  void check(bool, std::string_view, std::string_view) {}

 private:
  void add(FieldShape field);

  Shape& shape_;
  OpenRecords& open_;
};

template <Described T>
Shape outline_record(const T& initial, OpenRecords& open) {
  const void* identity = &identity_of<T>;
  if (std::find(open.begin(), open.end(), identity) != open.end()) {
    return shape_of(Shape::Kind::again, identity);
  }
  Shape shape = shape_of(Shape::Kind::record, identity);
  shape.doc = doc_of<T>();
  if constexpr (requires { std::string_view(T::type_name); }) shape.name = T::type_name;
  open.push_back(identity);
  T copy = initial;
  RecordOutline visitor(shape, open);
  describe(visitor, copy);
  open.pop_back();
  return shape;
}

template <class... Ts>
Shape outline_choice(std::type_identity<std::variant<Ts...>>, OpenRecords& open) {
  Shape shape = shape_of(Shape::Kind::choice);
  (shape.parts.push_back(outline_record(Ts{}, open)), ...);
  return shape;
}

template <class T>
Shape outline_of(const T& initial, OpenRecords& open) {
  if constexpr (IsScalar<T>) {
    Shape shape = shape_of(Shape::Kind::scalar);
    shape.name = Scalar<T>::type_name();
    shape.schema = Scalar<T>::schema();
    return shape;
  } else if constexpr (IsList<T> || IsOptional<T>) {
    Shape shape = shape_of(IsList<T> ? Shape::Kind::list : Shape::Kind::optional);
    shape.parts.push_back(outline_of(typename T::value_type{}, open));
    return shape;
  } else if constexpr (IsMap<T>) {
    Shape shape = shape_of(Shape::Kind::map);
    shape.parts.push_back(outline_of(typename T::mapped_type{}, open));
    return shape;
  } else if constexpr (IsChoice<T>) {
    return outline_choice(std::type_identity<T>{}, open);
  } else {
    return outline_record(initial, open);
  }
}

template <class T>
[[nodiscard]] Shape outline() {
  OpenRecords open;
  return outline_of(T{}, open);
}

}  // namespace cadre::describe
