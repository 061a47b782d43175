/// Which kinds of types a described struct may hold, for all visitors. Only types; safe on any thread.
#pragma once

#include <concepts>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "describe/checks.h"
#include "describe/scalar.h"

namespace cadre::describe {

void describe();  // never called: makes `describe(visitor, value)` find the functions that stand beside the structs

class Visitor;

template <class T>
concept Described = std::is_class_v<T> && requires(Visitor& visitor, T& value) {
  describe(visitor, value);
};

template <class T>
struct Kind {};
template <class T>
struct Kind<std::vector<T>> {
  static constexpr bool is_list = true;
};
template <class K, class T>
struct Kind<std::map<K, T>> {
  static constexpr bool is_map = true;
};
template <class T>
struct Kind<std::optional<T>> {
  static constexpr bool is_optional = true;
};
template <class... Ts>
struct Kind<std::variant<Ts...>> {
  static constexpr bool is_choice = true;
};

template <class T>
concept IsList = !IsScalar<T> && requires {
  Kind<T>::is_list;
};
template <class T>
concept IsMap = requires {
  Kind<T>::is_map;
};
template <class T>
concept IsOptional = requires {
  Kind<T>::is_optional;
};
/// A std::variant of described structs, told apart by the key `type`; each has a
/// `static constexpr std::string_view type_name`, and may have a `doc`.
template <class T>
concept IsChoice = requires {
  Kind<T>::is_choice;
};

/// A struct may say what it is: static constexpr std::string_view doc = "...";
template <class T>
constexpr std::string_view doc_of() {
  if constexpr (requires { std::string_view(T::doc); })
    return T::doc;
  else
    return {};
}

template <class T>
struct WithoutOptional {
  using type = T;
};
template <class T>
struct WithoutOptional<std::optional<T>> {
  using type = T;
};

/// Compiles if a field of type T (or of what it holds, when T is optional) can have these checks.
template <class T, class... Checks>
struct CheckedType {
  using Held = typename WithoutOptional<T>::type;
  static_assert((... && (!std::same_as<Checks, AmountCheck> || HasAmount<Held>)), "this type has no amount to check");
  static_assert((... && (!std::same_as<Checks, SizeCheck> || HasSize<Held> || IsList<Held> || IsMap<Held>)),
                "this type has no size to check");
};

inline const std::string& key_text(const std::string& key) { return key; }
template <class Tag>
const std::string& key_text(const Name<Tag>& key) {
  return key.value;
}

}  // namespace cadre::describe
