#include "describe/writer.h"

#include <string>
#include <string_view>
#include <utility>

namespace cadre::describe {
namespace {

void add(Value::Map& map, std::string_view key, Value value) {
  map.push_back({std::string(key), std::move(value), {}});
}

/// Writes one struct.
class RecordWriter final : public Visitor {
 public:
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
    add(map, field.key, write(*type, member));
  }
};

Value write_record(const RecordType& type, const void* from, std::string_view type_name) {
  RecordWriter record;
  if (!type_name.empty()) add(record.map, "type", Value(type_name));
  type.visit(record, const_cast<void*>(from));  // one describe() for all visitors; this one only reads
  return Value(std::move(record.map));
}

Value write_list(const ListType& type, void* from) {
  Value::List list;
  const std::size_t size = type.size(from);
  list.reserve(size);
  for (std::size_t i = 0; i < size; ++i) list.push_back(write(type.item, type.at(from, i)));
  return Value(std::move(list));
}

Value write_map(const MapType& type, const void* from) {
  struct Context {
    const Type& item;
    Value::Map map;
  } context{type.item, {}};
  const auto each = [](void* to, const std::string& key, const void* item) {
    auto& into = *static_cast<Context*>(to);
    add(into.map, key, write(into.item, item));
  };
  type.each(from, each, &context);
  return Value(std::move(context.map));
}

}  // namespace

Value write(const Type& type, const void* from) {
  switch (type.kind) {
    case Type::Kind::scalar: return static_cast<const ScalarType&>(type).write(from);
    case Type::Kind::list: return write_list(static_cast<const ListType&>(type), const_cast<void*>(from));
    case Type::Kind::map: return write_map(static_cast<const MapType&>(type), from);
    case Type::Kind::optional: {
      const auto& optional = static_cast<const OptionalType&>(type);
      const void* held = optional.held(from);
      return held != nullptr ? write(optional.item, held) : Value();
    }
    case Type::Kind::choice: {
      const auto& choice = static_cast<const ChoiceType&>(type);
      const std::size_t index = choice.index(from);
      return write_record(*choice.records[index], choice.held(from), choice.names[index]);
    }
    case Type::Kind::record: return write_record(static_cast<const RecordType&>(type), from, {});
  }
  return {};
}

}  // namespace cadre::describe
