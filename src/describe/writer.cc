#include "describe/writer.h"

namespace cadre::describe {

void RecordWriter::add(std::string_view key, Value value) { map_.push_back({std::string(key), std::move(value), {}}); }

}  // namespace cadre::describe
