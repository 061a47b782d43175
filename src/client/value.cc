#include <cadre/value.h>

#include "describe/formats.h"
#include "describe/packer.h"
#include "describe/value.h"

namespace cadre {
namespace {

using describe::Value;

/// Shorter rows are not worth to be apart.
constexpr std::size_t apart_from = 1024;
constexpr std::size_t parts_max = 1000;

const Value& value_at(const void* node) { return *static_cast<const Value*>(node); }
const Value nothing;

}  // namespace

struct ValueWriter::Inside {
  describe::Packer packer;
};

ValueWriter::ValueWriter(Rows rows) : inside_(std::make_unique<Inside>()), rows_(rows) {}
ValueWriter::ValueWriter(ValueWriter&&) noexcept = default;
ValueWriter::~ValueWriter() = default;

void ValueWriter::null() { inside_->packer.null(); }
void ValueWriter::truth(bool value) { inside_->packer.truth(value); }
void ValueWriter::number(std::int64_t value) { inside_->packer.number(value); }
void ValueWriter::number(std::uint64_t value) { inside_->packer.number(value); }
void ValueWriter::number(double value) { inside_->packer.number(value); }
void ValueWriter::text(std::string_view value) { inside_->packer.text(value); }
void ValueWriter::bytes(std::span<const std::byte> value) { inside_->packer.bytes(value); }
void ValueWriter::list(std::size_t size) { inside_->packer.list(size); }
void ValueWriter::map(std::size_t size) { inside_->packer.map(size); }

/// A row is told by its kind, and a long one by the number of its part, a short one by its bytes.
bool ValueWriter::row(std::string_view kind, std::span<const std::byte> numbers) {
  if (rows_ == Rows::inside) return false;
  list(2);
  text(kind);
  if (numbers.size() < apart_from || parts_.size() == parts_max) {
    bytes(numbers);
  } else {
    number(static_cast<std::uint64_t>(parts_.size()));
    parts_.push_back(numbers);
  }
  return true;
}

std::string_view ValueWriter::body() const { return as_text(inside_->packer.written()); }

struct ValueReader::Inside {
  Value root;
  std::vector<Part> parts;
};

ValueReader::ValueReader(std::span<const std::byte> body, std::vector<Part> parts)
    : inside_(std::make_unique<Inside>()) {
  describe::Parsed parsed = describe::parse_msgpack(body);
  if (!parsed) throw ValueError(describe::to_error(parsed.error(), "the value").message);
  inside_->root = *std::move(parsed);
  inside_->parts = std::move(parts);
}

ValueReader::ValueReader(ValueReader&&) noexcept = default;
ValueReader& ValueReader::operator=(ValueReader&&) noexcept = default;
ValueReader::~ValueReader() = default;

ValueView ValueReader::root() const { return {*this, &inside_->root, ""}; }

void ValueView::fail(const std::string& what) const {
  throw ValueError((path_.empty() ? "the value" : path_) + " " + what);
}

bool ValueView::is_null() const { return value_at(node_).is_null(); }

bool ValueView::truth() const {
  if (const auto* truth = value_at(node_).as<bool>()) return *truth;
  fail("is " + describe::found(value_at(node_)) + ", not true or false");
}

std::int64_t ValueView::signed_number() const {
  if (const auto* number = value_at(node_).as<std::int64_t>()) return *number;
  fail("is " + describe::found(value_at(node_)) + ", not a whole number");
}

std::uint64_t ValueView::unsigned_number() const {
  if (const auto* number = value_at(node_).as<std::uint64_t>()) return *number;
  const auto* number = value_at(node_).as<std::int64_t>();
  if (number != nullptr && *number >= 0) return static_cast<std::uint64_t>(*number);
  fail("is " + describe::found(value_at(node_)) + ", not a whole number from 0");
}

double ValueView::real_number() const {
  const Value& value = value_at(node_);
  if (const auto* number = value.as<double>()) return *number;
  if (const auto* number = value.as<std::int64_t>()) return static_cast<double>(*number);
  if (const auto* number = value.as<std::uint64_t>()) return static_cast<double>(*number);
  fail("is " + describe::found(value) + ", not a number");
}

std::string_view ValueView::text() const {
  if (const auto* text = value_at(node_).as<std::string>()) return *text;
  if (const auto* bytes = value_at(node_).as<Bytes>()) return as_text(*bytes);
  fail("is " + describe::found(value_at(node_)) + ", not text");
}

std::size_t ValueView::size() const {
  if (const auto* list = value_at(node_).as<Value::List>()) return list->size();
  if (const auto* map = value_at(node_).as<Value::Map>()) return map->size();
  fail("is " + describe::found(value_at(node_)) + ", not a list or map");
}

ValueView ValueView::at(std::size_t index) const {
  if (index >= size()) fail("has only " + std::to_string(size()) + " items");
  const Value& value = value_at(node_);
  if (const auto* list = value.as<Value::List>()) {
    return {*reader_, &(*list)[index], path_ + "[" + std::to_string(index) + "]"};
  }
  const describe::Entry& entry = (*value.as<Value::Map>())[index];
  return {*reader_, &entry.value, path_ + "." + entry.key};
}

std::string_view ValueView::key_at(std::size_t index) const {
  const auto* map = value_at(node_).as<Value::Map>();
  if (map == nullptr) fail("is " + describe::found(value_at(node_)) + ", not a map");
  return (*map)[index].key;
}

ValueView ValueView::find(std::string_view key) const {
  const Value& value = value_at(node_);
  if (value.as<Value::Map>() == nullptr) fail("is " + describe::found(value) + ", not a map");
  const Value* found = value.find(key);
  return {*reader_, found == nullptr ? &nothing : found, path_ + "." + std::string(key)};
}

std::optional<ValueView::Row> ValueView::row(std::string_view kind) const {
  const auto* pair = value_at(node_).as<Value::List>();
  const auto* its_kind = pair != nullptr && pair->size() == 2 ? pair->front().as<std::string>() : nullptr;
  if (its_kind == nullptr || pair->back().as<std::string>() != nullptr) return std::nullopt;  // a list of texts
  if (*its_kind != kind) fail("is a row of numbers " + *its_kind + ", not " + std::string(kind));
  const Value& value = pair->back();
  if (const auto* bytes = value.as<Bytes>()) {
    auto* const start = const_cast<std::byte*>(bytes->data());
    auto copy = std::make_shared<Bytes>(start, start + bytes->size());  // aligned, and as long as it is needed
    return Row{*copy, copy};
  }
  const auto* number = value.as<std::int64_t>();
  if (number == nullptr) fail("is no row of numbers");
  const std::vector<ValueReader::Part>& parts = reader_->inside_->parts;
  if (*number < 0 || static_cast<std::size_t>(*number) >= parts.size()) fail("is a row of numbers that did not come");
  const ValueReader::Part& part = parts[static_cast<std::size_t>(*number)];
  return Row{part.bytes, part.owner};
}

}  // namespace cadre
