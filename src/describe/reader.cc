#include "describe/reader.h"

#include <cstddef>
#include <string_view>
#include <vector>

#include "base/check.h"

namespace cadre::describe {
namespace {

enum class Tag : std::uint8_t { none, type };  ///< whether the key `type` belongs to a choice around the struct

/// Reads one struct.
class RecordReader final : public Visitor {
 public:
  RecordReader(const Value& record, const Place& place, Tag tag);

  void check(bool holds, std::string_view key, std::string_view message) override;

  /// Finds the keys that no field took, unless they are ignored.
  void finish();

 private:
  void visit(const Field& field) override;
  const Value* take(std::string_view key);
  void missing(std::string_view key, std::string_view doc);

  const Value& record_;
  const Value::Map& entries_;
  const Place& place_;
  std::size_t faults_before_;
  std::size_t next_ = 0;  ///< where the next key is looked for first: texts mostly keep the order of the struct
  std::size_t taken_count_ = 0;
  std::vector<bool> taken_;
  std::vector<std::string_view> known_;
};

RecordReader::RecordReader(const Value& record, const Place& place, Tag tag)
    : record_(record),
      entries_(*record.as<Value::Map>()),
      place_(place),
      faults_before_(place.faults.count()),
      taken_(entries_.size()) {
  if (tag == Tag::type) take("type");
}

const Value* RecordReader::take(std::string_view key) {
  known_.push_back(key);
  for (std::size_t tried = 0; tried < entries_.size(); ++tried, ++next_) {
    if (next_ >= entries_.size()) next_ = 0;
    if (entries_[next_].key != key) continue;
    CHECK(!taken_[next_]);  // else a describe() names a key twice, or names `type` inside a choice
    taken_[next_] = true;
    ++taken_count_;
    return &entries_[next_++].value;
  }
  return nullptr;
}

void RecordReader::visit(const Field& field) {
  const Value* value = take(field.key);
  if (value == nullptr) {
    if (const std::string_view former = field.former_key(); !former.empty()) value = take(former);
  }
  if (value == nullptr) {
    if (field.is_required) missing(field.key, field.doc);
    return;
  }
  const Path path(place_.path, field.key);
  read_into(*value, field.type, field.member, field.limits(), place_.at(path));
}

void RecordReader::missing(std::string_view key, std::string_view doc) {
  const Path path(place_.path, key);
  place_.at(path).fault(record_, "is required: " + std::string(doc));
}

void RecordReader::check(bool holds, std::string_view key, std::string_view message) {
  if (holds || place_.faults.count() != faults_before_) return;
  const Value* value = record_.find(key);
  const Path path(place_.path, key);
  const Place place = place_.at(key.empty() ? place_.path : path);
  place.fault(value != nullptr ? *value : record_, std::string(message));
}

void RecordReader::finish() {
  if (place_.unknown_keys == UnknownKeys::ignored || taken_count_ == entries_.size()) return;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (taken_[i]) continue;
    const Entry& entry = entries_[i];
    if (place_.faults.is_full()) {
      place_.faults.add({});  // only counted
      continue;
    }
    const Path path(place_.path, entry.key);
    const std::optional<Mark> at = entry.key_at.line == 0 ? entry.value.at() : std::optional(entry.key_at);
    place_.faults.add({path.to_text(), "is not a known key;" + suggestion(entry.key, known_), at});
  }
}

void read_record(const Value& value, const RecordType& type, void* out, const Place& place, Tag tag) {
  if (place.map(value) == nullptr) return;
  RecordReader reader(value, place, tag);
  type.visit(reader, out);
  reader.finish();
}

void read_list(const Value& value, const ListType& type, void* out, const Limits& limits, const Place& place) {
  const Value::List* list = place.list(value);
  if (list == nullptr) return;
  type.resize(out, list->size());
  for (std::size_t i = 0; i < list->size(); ++i) {
    const Path path(place.path, i);
    read_into((*list)[i], type.item, type.at(out, i), Limits{}, place.at(path));
  }
  place.check_size(value, limits, list->size());
}

void read_map(const Value& value, const MapType& type, void* out, const Limits& limits, const Place& place) {
  const Value::Map* map = place.map(value);
  if (map == nullptr) return;
  type.clear(out);
  for (const Entry& entry : *map) {
    const Path path(place.path, entry.key);
    read_into(entry.value, type.item, type.add(out, entry.key), Limits{}, place.at(path));
  }
  place.check_size(value, limits, map->size());
}

void read_choice(const Value& value, const ChoiceType& type, void* out, const Place& place) {
  const std::size_t index = place.choice(value, type.names);
  if (index == type.names.size()) return;
  read_record(value, *type.records[index], type.emplace(out, index), place, Tag::type);
}

}  // namespace

void read_into(const Value& value, const Type& type, void* out, const Limits& limits, const Place& place) {
  switch (type.kind) {
    case Type::Kind::scalar: return static_cast<const ScalarType&>(type).read(value, out, limits, place);
    case Type::Kind::list: return read_list(value, static_cast<const ListType&>(type), out, limits, place);
    case Type::Kind::map: return read_map(value, static_cast<const MapType&>(type), out, limits, place);
    case Type::Kind::optional: {
      const auto& optional = static_cast<const OptionalType&>(type);
      optional.reset(out);
      if (!value.is_null()) read_into(value, optional.item, optional.emplace(out), limits, place);
      return;
    }
    case Type::Kind::choice: return read_choice(value, static_cast<const ChoiceType&>(type), out, place);
    case Type::Kind::record: return read_record(value, static_cast<const RecordType&>(type), out, place, Tag::none);
  }
}

}  // namespace cadre::describe
