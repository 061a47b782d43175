/// What reading, writing and outlining must know of a type, as a table of functions. Their code thus exists once, and
/// not once for each type, which would be most of what is compiled. Only constants; safe on any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "describe/checks.h"
#include "describe/kinds.h"
#include "describe/place.h"
#include "describe/scalar.h"
#include "describe/value.h"

namespace cadre::describe {

struct Type {
  enum class Kind : std::uint8_t { scalar, list, map, optional, choice, record };
  Kind kind;
};

struct ScalarType : Type {
  void (*read)(const Value& value, void* out, const Limits& limits, const Place& place);
  Value (*write)(const void* scalar);
  std::string (*name)();
  Value (*schema)();
};

struct ListType : Type {
  const Type& item;
  void (*resize)(void* list, std::size_t size);  ///< all items are new
  std::size_t (*size)(const void* list);
  void* (*at)(void* list, std::size_t index);
};

struct MapType : Type {
  using Each = void (*)(void* context, const std::string& key, const void* item);
  const Type& item;
  void (*clear)(void* map);
  void* (*add)(void* map, const std::string& key);
  void (*each)(const void* map, Each each, void* context);
};

struct OptionalType : Type {
  const Type& item;
  void (*reset)(void* optional);
  void* (*emplace)(void* optional);
  const void* (*held)(const void* optional);  ///< null: nothing
};

struct RecordType : Type {
  std::string_view name;  ///< in a choice
  std::string_view doc;
  void (*visit)(Visitor& visitor, void* record);
  void* (*create)();
  void (*destroy)(void* record);
};

struct ChoiceType : Type {
  std::span<const std::string_view> names;
  std::span<const RecordType* const> records;
  std::size_t (*index)(const void* choice);
  const void* (*held)(const void* choice);
  void* (*emplace)(void* choice, std::size_t index);
};

/// One of the checks that a field has.
using AnyCheck = std::variant<const AmountCheck*, const SizeCheck*, const Formerly*>;

/// A field of a struct, as its describe() declares it.
struct Field {
  std::string_view key;
  void* member;
  const Type& type;
  std::string_view doc;
  bool is_required;
  std::span<const AnyCheck> checks{};

  [[nodiscard]] Limits limits() const;
  [[nodiscard]] std::string_view former_key() const;  ///< empty: none
};

template <class T>
constexpr const Type& type_of();

/// What a describe() is called with.
class Visitor {
 public:
  /// May be left out; then the member keeps its initial value.
  template <class T, class... Checks>
  void field(std::string_view key, T& member, std::string_view doc, const Checks&... checks) {
    visit_with<T>({key, &member, type_of<T>(), doc, false}, checks...);
  }
  template <class T, class... Checks>
  void required(std::string_view key, T& member, std::string_view doc, const Checks&... checks) {
    visit_with<T>({key, &member, type_of<T>(), doc, true}, checks...);
  }
  /// A rule between fields. A fault at `key` when it does not hold and the fields were read without faults; the
  /// condition itself is evaluated always, so it must be safe for any values.
  virtual void check(bool holds, std::string_view key, std::string_view message) = 0;

 protected:
  ~Visitor() = default;

 private:
  template <class T, class... Checks>
  void visit_with(Field field, const Checks&... checks) {
    static_cast<void>(CheckedType<T, Checks...>{});
    if constexpr (sizeof...(Checks) == 0) return visit(field);
    const std::array<AnyCheck, sizeof...(Checks)> list{&checks...};
    field.checks = list;
    visit(field);
  }
  virtual void visit(const Field& field) = 0;
};

template <IsScalar T>
struct ScalarTable {
  static void read(const Value& value, void* out, const Limits& limits, const Place& place) {
    auto result = [&] {
      if constexpr (WholeNumber<T>)
        return Scalar<T>::read(value, limits);
      else
        return Scalar<T>::read(value);
    }();
    if (!result) return place.fault(value, std::move(result).error().message);
    if constexpr (HasAmount<T> && !WholeNumber<T>) place.check_amount(value, limits, Scalar<T>::amount(*result));
    if constexpr (HasSize<T>) place.check_size(value, limits, Scalar<T>::size(*result));
    *static_cast<T*>(out) = *std::move(result);
  }
  static Value write(const void* scalar) { return Scalar<T>::write(*static_cast<const T*>(scalar)); }

  static constexpr ScalarType type{{Type::Kind::scalar}, read, write, Scalar<T>::type_name, Scalar<T>::schema};
};

template <class T>
struct ListTable {
  static_assert(!std::same_as<typename T::value_type, bool>, "its items have no addresses");
  static void resize(void* list, std::size_t size) {
    static_cast<T*>(list)->clear();
    static_cast<T*>(list)->resize(size);
  }
  static std::size_t size(const void* list) { return static_cast<const T*>(list)->size(); }
  static void* at(void* list, std::size_t index) { return static_cast<T*>(list)->data() + index; }

  static constexpr ListType type{{Type::Kind::list}, type_of<typename T::value_type>(), resize, size, at};
};

template <class T>
struct MapTable {
  static void clear(void* map) { static_cast<T*>(map)->clear(); }
  static void* add(void* map, const std::string& key) { return &(*static_cast<T*>(map))[typename T::key_type(key)]; }
  static void each(const void* map, MapType::Each each, void* context) {
    for (const auto& [key, item] : *static_cast<const T*>(map)) each(context, key_text(key), &item);
  }

  static constexpr MapType type{{Type::Kind::map}, type_of<typename T::mapped_type>(), clear, add, each};
};

template <class T>
struct OptionalTable {
  static void reset(void* optional) { static_cast<T*>(optional)->reset(); }
  static void* emplace(void* optional) { return &static_cast<T*>(optional)->emplace(); }
  static const void* held(const void* optional) {
    const T& one = *static_cast<const T*>(optional);
    return one ? &*one : nullptr;
  }

  static constexpr OptionalType type{{Type::Kind::optional}, type_of<typename T::value_type>(), reset, emplace, held};
};

template <class T>
struct RecordTable {
  static_assert(Described<T>, "give the type a describe(), an enum_names() or a Scalar");
  static constexpr std::string_view name() {
    if constexpr (requires { std::string_view(T::type_name); })
      return T::type_name;
    else
      return {};
  }
  static void visit(Visitor& visitor, void* record) { describe(visitor, *static_cast<T*>(record)); }
  static void* create() { return new T{}; }
  static void destroy(void* record) { delete static_cast<T*>(record); }

  static constexpr RecordType type{{Type::Kind::record}, name(), doc_of<T>(), visit, create, destroy};
};

template <class T>
struct ChoiceTable;
template <class... Ts>
struct ChoiceTable<std::variant<Ts...>> {
  using T = std::variant<Ts...>;
  static constexpr std::array<std::string_view, sizeof...(Ts)> names{Ts::type_name...};
  static constexpr std::array<const RecordType*, sizeof...(Ts)> records{&RecordTable<Ts>::type...};
  static std::size_t index(const void* choice) { return static_cast<const T*>(choice)->index(); }
  static const void* held(const void* choice) {
    return std::visit([](const auto& one) -> const void* { return &one; }, *static_cast<const T*>(choice));
  }
  template <class One>
  static void* emplace_one(T& choice) {
    return &choice.template emplace<One>();
  }
  static void* emplace(void* choice, std::size_t index) {
    static constexpr std::array<void* (*)(T&), sizeof...(Ts)> each{emplace_one<Ts>...};
    return each[index](*static_cast<T*>(choice));
  }

  static constexpr ChoiceType type{{Type::Kind::choice}, names, records, index, held, emplace};
};

template <class T>
constexpr const Type& type_of() {
  if constexpr (IsScalar<T>)
    return ScalarTable<T>::type;
  else if constexpr (IsList<T>)
    return ListTable<T>::type;
  else if constexpr (IsMap<T>)
    return MapTable<T>::type;
  else if constexpr (IsOptional<T>)
    return OptionalTable<T>::type;
  else if constexpr (IsChoice<T>)
    return ChoiceTable<T>::type;
  else
    return RecordTable<T>::type;
}

}  // namespace cadre::describe
