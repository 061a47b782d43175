#include "describe/outline.h"

namespace cadre::describe {

void RecordOutline::add(FieldShape field) { shape_.fields.push_back(std::move(field)); }

}  // namespace cadre::describe
