#include "describe/outline.h"

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

#include "describe/writer.h"

namespace cadre::describe {
namespace {

/// The records that are being outlined, the innermost last.
using OpenRecords = std::vector<const void*>;

Shape outline_of(const Type& type, void* initial, OpenRecords& open);

/// Outlines one struct.
class RecordOutline final : public Visitor {
 public:
  RecordOutline(Shape& shape, OpenRecords& open) : shape_(shape), open_(open) {}
  void check(bool, std::string_view, std::string_view) override {}

 private:
  void visit(const Field& field) override {
    shape_.fields.push_back({std::string(field.key), std::string(field.doc), field.is_required, field.limits(),
                             field.is_required ? Value() : write(field.type, field.member),
                             outline_of(field.type, field.member, open_)});
  }

  Shape& shape_;
  OpenRecords& open_;
};

Shape shape_of(Shape::Kind kind, const void* identity = nullptr) {
  Shape shape;
  shape.kind = kind;
  shape.identity = identity;
  return shape;
}

/// `initial` is null where no struct around it gives one.
Shape outline_record(const RecordType& type, void* initial, OpenRecords& open) {
  if (std::find(open.begin(), open.end(), &type) != open.end()) return shape_of(Shape::Kind::again, &type);
  Shape shape = shape_of(Shape::Kind::record, &type);
  shape.doc = type.doc;
  shape.name = type.name;
  const std::unique_ptr<void, void (*)(void*)> made(initial == nullptr ? type.create() : nullptr, type.destroy);
  open.push_back(&type);
  RecordOutline visitor(shape, open);
  type.visit(visitor, initial == nullptr ? made.get() : initial);
  open.pop_back();
  return shape;
}

Shape outline_around(Shape::Kind kind, const Type& item, OpenRecords& open) {
  Shape shape = shape_of(kind);
  shape.parts.push_back(outline_of(item, nullptr, open));
  return shape;
}

Shape outline_of(const Type& type, void* initial, OpenRecords& open) {
  switch (type.kind) {
    case Type::Kind::scalar: {
      Shape shape = shape_of(Shape::Kind::scalar);
      shape.name = static_cast<const ScalarType&>(type).name();
      shape.schema = static_cast<const ScalarType&>(type).schema();
      return shape;
    }
    case Type::Kind::list: return outline_around(Shape::Kind::list, static_cast<const ListType&>(type).item, open);
    case Type::Kind::map: return outline_around(Shape::Kind::map, static_cast<const MapType&>(type).item, open);
    case Type::Kind::optional:
      return outline_around(Shape::Kind::optional, static_cast<const OptionalType&>(type).item, open);
    case Type::Kind::choice: {
      Shape shape = shape_of(Shape::Kind::choice);
      for (const RecordType* record : static_cast<const ChoiceType&>(type).records) {
        shape.parts.push_back(outline_record(*record, nullptr, open));
      }
      return shape;
    }
    case Type::Kind::record: return outline_record(static_cast<const RecordType&>(type), initial, open);
  }
  return {};
}

}  // namespace

Shape outline(const Type& type) {
  OpenRecords open;
  return outline_of(type, nullptr, open);
}

}  // namespace cadre::describe
