/// Makes a tree of values of any described struct. Safe on any thread.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "describe/kinds.h"
#include "describe/value.h"

namespace cadre::describe {

template <class T>
[[nodiscard]] Value write(const T& value);

/// The visitor that writes one struct; what is an empty optional is left out.
class RecordWriter {
 public:
  template <class T, class... Checks>
  void field(std::string_view key, T& member, std::string_view, const Checks&...) {
    if constexpr (IsOptional<T>) {
      if (member) add(key, write(*member));
    } else {
      add(key, write(std::as_const(member)));
    }
  }

  template <class T, class... Checks>
  void required(std::string_view key, T& member, std::string_view doc, const Checks&...) {
    field(key, member, doc);
  }

  void check(bool, std::string_view, std::string_view) {}

  void add(std::string_view key, Value value);
  [[nodiscard]] Value take() { return Value(std::move(map_)); }

 private:
  Value::Map map_;
};

template <class T>
Value write(const T& value) {
  if constexpr (IsScalar<T>) {
    return Scalar<T>::write(value);
  } else if constexpr (IsList<T>) {
    Value::List list;
    list.reserve(value.size());
    for (const typename T::value_type& item : value) list.push_back(write(item));
    return Value(std::move(list));
  } else if constexpr (IsMap<T>) {
    RecordWriter map;
    for (const auto& [key, item] : value) map.add(key_text(key), write(item));
    return map.take();
  } else if constexpr (IsOptional<T>) {
    return value ? write(*value) : Value();
  } else {
    RecordWriter record;
    const auto fill = [&](const auto& each) {
      using Record = std::remove_cvref_t<decltype(each)>;
      static_assert(Described<Record>, "give the type a describe(), an enum_names() or a Scalar");
      if constexpr (IsChoice<T>) record.add("type", Value(Record::type_name));
      describe(record, const_cast<Record&>(each));  // one describe() for all visitors; this one only reads
    };
    if constexpr (IsChoice<T>)
      std::visit(fill, value);
    else
      fill(value);
    return record.take();
  }
}

}  // namespace cadre::describe
