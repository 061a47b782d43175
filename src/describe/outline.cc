#include "describe/outline.h"

namespace cadre::describe {

Shape shape_of(Shape::Kind kind, const void* identity) {
  Shape shape;
  shape.kind = kind;
  shape.identity = identity;
  return shape;
}

void RecordOutline::add(FieldShape field) { shape_.fields.push_back(std::move(field)); }

}  // namespace cadre::describe
