#include "describe/value.h"

#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "describe/utf8.h"

namespace cadre::describe {

Value::Value() = default;
Value::Value(const Value& other) = default;
Value::Value(Value&& other) noexcept = default;
Value& Value::operator=(const Value& other) = default;
Value& Value::operator=(Value&& other) noexcept = default;
Value::~Value() = default;

Value::Value(bool truth) : data_(truth) {}
Value::Value(double number) : data_(number) {}
Value::Value(std::string text) : data_(std::move(text)) {}
Value::Value(std::string_view text) : data_(std::string(text)) {}
Value::Value(const char* text) : data_(std::string(text)) {}
Value::Value(Bytes bytes) : data_(std::move(bytes)) {}
Value::Value(List list) : data_(std::move(list)) {}
Value::Value(Map map) : data_(std::move(map)) {}

void Value::set_signed(std::int64_t number) { data_ = number; }

void Value::set_unsigned(std::uint64_t number) {
  if (number <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    data_ = static_cast<std::int64_t>(number);
  } else {
    data_ = number;
  }
}

const Value* Value::find(std::string_view key) const {
  const auto* map = as<Map>();
  if (map == nullptr) return nullptr;
  for (const Entry& entry : *map) {
    if (entry.key == key) return &entry.value;
  }
  return nullptr;
}

Value& Value::set(std::string key, Value value) {
  if (is_null()) data_ = Map{};
  auto& map = std::get<Map>(data_);
  for (Entry& entry : map) {
    if (entry.key != key) continue;
    entry.value = std::move(value);
    return *this;
  }
  map.push_back({std::move(key), std::move(value), {}});
  return *this;
}

bool Value::operator==(const Value& other) const {
  if (const auto* mine = as<double>(), *theirs = other.as<double>(); mine != nullptr && theirs != nullptr) {
    if (std::isnan(*mine) || std::isnan(*theirs)) return std::isnan(*mine) && std::isnan(*theirs);
    return *mine == *theirs && std::signbit(*mine) == std::signbit(*theirs);
  }
  return data_ == other.data_;
}

std::string found(const Value& value) {
  constexpr std::size_t most_shown = 40;
  if (value.is_null()) return "nothing (null)";
  if (const auto* truth = value.as<bool>()) return *truth ? "true" : "false";
  if (const auto* number = value.as<std::int64_t>()) return "the number " + std::to_string(*number);
  if (const auto* number = value.as<std::uint64_t>()) return "the number " + std::to_string(*number);
  if (const auto* number = value.as<double>()) return "the number " + to_text(*number);
  if (const auto* text = value.as<std::string>()) return "text " + quoted(shortened(*text, most_shown));
  if (value.as<Bytes>() != nullptr) return "bytes";
  return value.as<Value::List>() != nullptr ? "a list" : "a map";
}

std::string to_text(double number) {
  if (std::isnan(number)) return "NaN";
  if (std::isinf(number)) return number > 0 ? "Infinity" : "-Infinity";
  std::array<char, 32> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number).ptr;
  std::string text(buffer.data(), end);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

}  // namespace cadre::describe
