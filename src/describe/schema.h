/// The JSON Schema (draft 2020-12) of a described type: accepts all that read accepts, and refuses what a schema can
/// refuse. Safe on any thread.
#pragma once

#include <string>
#include <string_view>

#include "describe/outline.h"

namespace cadre::describe {

/// The schema as a tree, to be placed in a larger document at `pointer` ("#/components/schemas/Gang").
[[nodiscard]] Value schema_of(const Shape& shape, std::string_view pointer);

/// A whole document, indented, with a line end.
[[nodiscard]] std::string schema_document(const Shape& shape, std::string_view title);

template <class T>
[[nodiscard]] std::string json_schema(std::string_view title) {
  return schema_document(outline<T>(), title);
}

}  // namespace cadre::describe
