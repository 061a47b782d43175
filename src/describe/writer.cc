#include "describe/writer.h"

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace cadre::describe {
namespace {

void add(Value::Map& map, std::string_view key, Value value) {
  map.push_back({std::string(key), std::move(value), {}});
}

/// The addresses of the members of a struct, by key.
class Members final : public Visitor {
 public:
  Members(const RecordType& type, const void* record) { type.visit(*this, const_cast<void*>(record)); }
  void check(bool, std::string_view, std::string_view) override {}

  /// Null: this struct has no such field.
  [[nodiscard]] const void* find(std::string_view key) const {
    const auto found = by_key_.find(key);
    return found == by_key_.end() ? nullptr : found->second;
  }

 private:
  void visit(const Field& field) override { by_key_[field.key] = field.member; }

  std::map<std::string_view, const void*> by_key_;
};

/// What a reader begins with when it reads a struct: all fields have their defaults.
class Initial {
 public:
  explicit Initial(const RecordType& type) : record_(type.create(), type.destroy) {}
  [[nodiscard]] const void* get() const { return record_.get(); }

 private:
  std::unique_ptr<void, void (*)(void*)> record_;
};

Value write_changes(const RecordType& type, const void* from, const void* initial, std::string_view type_name);

/// Writes one struct; without its defaults, if it knows them.
class RecordWriter final : public Visitor {
 public:
  explicit RecordWriter(const Members* initial) : initial_(initial) {}
  void check(bool, std::string_view, std::string_view) override {}

  Value::Map map;

 private:
  void visit(const Field& field) override {
    const Type* type = &field.type;
    const void* member = field.member;
    if (type->kind == Type::Kind::optional) {
      const auto& optional = static_cast<const OptionalType&>(*type);
      member = optional.held(member);
      if (member == nullptr) return;
      type = &optional.item;
    }
    const void* initial = initial_ == nullptr ? nullptr : initial_->find(field.key);
    if (initial == nullptr) return add(map, field.key, write(*type, member));
    if (!field.is_required && write(field.type, field.member) == write(field.type, initial)) return;
    // A reader fills a struct inside of another where it is: its defaults are those that the outer one gives it.
    const bool is_in_place = field.type.kind == Type::Kind::record;
    add(map, field.key,
        is_in_place ? write_changes(static_cast<const RecordType&>(*type), member, initial, {})
                    : write(*type, member, Defaults::omitted));
  }

  const Members* const initial_;
};

Value write_record(const RecordType& type, const void* from, std::string_view type_name, const Members* initial) {
  RecordWriter record(initial);
  if (!type_name.empty()) add(record.map, "type", Value(type_name));
  type.visit(record, const_cast<void*>(from));  // one describe() for all visitors; this one only reads
  return Value(std::move(record.map));
}

Value write_changes(const RecordType& type, const void* from, const void* initial, std::string_view type_name) {
  const Members members(type, initial);
  return write_record(type, from, type_name, &members);
}

Value write_record(const RecordType& type, const void* from, std::string_view type_name, Defaults defaults) {
  if (defaults == Defaults::written) return write_record(type, from, type_name, nullptr);
  return write_changes(type, from, Initial(type).get(), type_name);
}

Value write_list(const ListType& type, void* from, Defaults defaults) {
  Value::List list;
  const std::size_t size = type.size(from);
  list.reserve(size);
  if (defaults == Defaults::omitted && type.item.kind == Type::Kind::record) {
    const auto& record = static_cast<const RecordType&>(type.item);
    const Initial initial(record);
    const Members members(record, initial.get());
    for (std::size_t i = 0; i < size; ++i) list.push_back(write_record(record, type.at(from, i), {}, &members));
    return Value(std::move(list));
  }
  for (std::size_t i = 0; i < size; ++i) list.push_back(write(type.item, type.at(from, i), defaults));
  return Value(std::move(list));
}

Value write_map(const MapType& type, const void* from, Defaults defaults) {
  struct Context {
    const Type& item;
    const Defaults defaults;
    Value::Map map;
  } context{type.item, defaults, {}};
  const auto each = [](void* to, const std::string& key, const void* item) {
    auto& into = *static_cast<Context*>(to);
    add(into.map, key, write(into.item, item, into.defaults));
  };
  type.each(from, each, &context);
  return Value(std::move(context.map));
}

}  // namespace

Value write(const Type& type, const void* from, Defaults defaults) {
  switch (type.kind) {
    case Type::Kind::scalar: return static_cast<const ScalarType&>(type).write(from);
    case Type::Kind::list: return write_list(static_cast<const ListType&>(type), const_cast<void*>(from), defaults);
    case Type::Kind::map: return write_map(static_cast<const MapType&>(type), from, defaults);
    case Type::Kind::optional: {
      const auto& optional = static_cast<const OptionalType&>(type);
      const void* held = optional.held(from);
      return held != nullptr ? write(optional.item, held, defaults) : Value();
    }
    case Type::Kind::choice: {
      const auto& choice = static_cast<const ChoiceType&>(type);
      const std::size_t index = choice.index(from);
      return write_record(*choice.records[index], choice.held(from), choice.names[index], defaults);
    }
    case Type::Kind::record: return write_record(static_cast<const RecordType&>(type), from, {}, defaults);
  }
  return {};
}

}  // namespace cadre::describe
