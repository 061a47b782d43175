#include "describe/reader.h"

#include "base/check.h"

namespace cadre::describe {

void Place::fault(const Value& value, std::string message) const {
  faults.add(faults.is_full() ? Fault{} : Fault{path.to_text(), std::move(message), value.at()});
}

const Value::List* Place::list(const Value& value) const {
  const auto* list = value.as<Value::List>();
  if (list == nullptr) {
    fault(value, "expected a list, found " + found(value) + (value.is_null() ? "; write [] for an empty one" : ""));
  }
  return list;
}

const Value::Map* Place::map(const Value& value) const {
  const auto* map = value.as<Value::Map>();
  if (map == nullptr) {
    fault(value, "expected a map, found " + found(value) + (value.is_null() ? "; write {} for an empty one" : ""));
  }
  return map;
}

std::size_t Place::choice(const Value& value, std::span<const std::string_view> names) const {
  if (map(value) == nullptr) return names.size();
  const Value* type = value.find("type");
  const Path type_path(path, "type");
  const Place at_type = at(type_path);
  if (type == nullptr) {
    std::string list;
    for (const std::string_view name : names) list += (list.empty() ? "" : ", ") + std::string(name);
    at_type.fault(value, "is required; choose one of: " + list);
    return names.size();
  }
  const auto chosen = read_choice(*type, names);
  if (chosen) return *chosen;
  at_type.fault(*type, chosen.error().message);
  return names.size();
}

void Place::check_size(const Value& value, const Limits& limits, std::size_t size) const {
  if (std::string wrong = broken_size(limits, size); !wrong.empty()) fault(value, std::move(wrong));
}

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

}  // namespace cadre::describe
