#include "describe/place.h"

#include <utility>

#include "describe/scalar.h"

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

void Place::check_amount(const Value& value, const Limits& limits, Amount amount) const {
  if (std::string wrong = broken(limits, amount); !wrong.empty()) fault(value, std::move(wrong));
}

void Place::check_size(const Value& value, const Limits& limits, std::size_t size) const {
  if (std::string wrong = broken_size(limits, size); !wrong.empty()) fault(value, std::move(wrong));
}

}  // namespace cadre::describe
