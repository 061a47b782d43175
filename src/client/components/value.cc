#include <cadre/value.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <numeric>

#include "client/components/value_forms.h"
#include "describe/msgpack_cursor.h"
#include "describe/packer.h"
#include "describe/value.h"

namespace cadre {
namespace {

using client::ArrayForm;
using client::ValueForm;
using describe::MsgpackCursor;
using Kind = MsgpackCursor::Kind;

/// Shorter rows are not worth to be apart.
constexpr std::size_t apart_from = 1024;
constexpr std::size_t parts_max = 1000;

constexpr std::size_t depth_max = 64;
constexpr std::size_t nodes_max = 1'000'000;

/// A value where it was read. Of lists and sets `parts` are the items, of maps keys and values in turn.
struct Node {
  MsgpackCursor::Item item;
  std::vector<Node> parts;
  std::shared_ptr<const ArrayForm> array;  // shared, so that a node without one stays small

  bool is(Kind kind) const { return item.kind == kind; }
  bool is_set() const { return is(Kind::extension) && item.type == static_cast<std::int8_t>(ValueForm::set); }
  bool is_list() const { return is(Kind::list) || is_set(); }
};

const Node& node_at(const void* node) { return *static_cast<const Node*>(node); }
const Node nothing;

/// Reads nodes, within bounds; throws ValueError.
class Nodes {
 public:
  Node read(BytesView body) {
    MsgpackCursor cursor(body);
    Node node = next(cursor, 0);
    if (!cursor.is_at_end()) fail(cursor.fault_here("there are extra bytes after its end; remove them"));
    return node;
  }

 private:
  [[noreturn]] static void fail(const std::string& why) { throw ValueError("the value is not MessagePack: " + why); }

  Node next(MsgpackCursor& cursor, std::size_t depth) {
    const auto item = cursor.next();
    if (!item) fail(cursor.fault());
    if (depth > depth_max) throw ValueError("the value is nested too deeply");
    if (++count_ > nodes_max)
      throw ValueError("the value has more than 1000000 values in it; send numbers as an array");
    Node node{*item, {}, nullptr};
    if (item->kind == Kind::list || item->kind == Kind::map) {
      const std::size_t size = item->kind == Kind::map ? 2 * item->size : item->size;
      for (std::size_t i = 0; i < size; ++i) node.parts.push_back(next(cursor, depth + 1));
    }
    if (item->kind == Kind::extension) extend(node, depth);
    return node;
  }

  void extend(Node& node, std::size_t depth) {
    switch (static_cast<ValueForm>(node.item.type)) {
      case ValueForm::array:
      case ValueForm::scalar: {
        Result<ArrayForm> array = client::read_array(node.item.bytes);
        if (!array) throw ValueError("the value " + array.error().message);
        node.array = std::make_shared<const ArrayForm>(*std::move(array));
        return;
      }
      case ValueForm::set: {
        MsgpackCursor cursor(node.item.bytes);
        Node items = next(cursor, depth + 1);
        if (!items.is(Kind::list) || !cursor.is_at_end()) throw ValueError("the value contains a malformed set");
        node.parts = std::move(items.parts);
        return;
      }
    }
    throw ValueError("the value holds an extension of type " + std::to_string(node.item.type) + ", which is not known");
  }

  std::size_t count_ = 0;
};

template <class T>
T number_at(const std::byte* place) {
  T number{};
  std::memcpy(&number, place, sizeof number);
  return number;
}

double half_at(const std::byte* place) {
  const auto bits = number_at<std::uint16_t>(place);
  const int exponent = bits >> 10 & 0x1f;
  const double fraction = bits & 0x3ff;
  const double size = exponent == 0x1f ? (fraction == 0 ? std::numeric_limits<double>::infinity()
                                                        : std::numeric_limits<double>::quiet_NaN())
                      : exponent == 0  ? std::ldexp(fraction, -24)
                                       : std::ldexp(fraction + 1024, exponent - 25);
  return (bits & 0x8000) != 0 ? -size : size;
}

std::int64_t signed_at(const std::byte* place, std::size_t size) {
  switch (size) {
    case 1: return number_at<std::int8_t>(place);
    case 2: return number_at<std::int16_t>(place);
    case 4: return number_at<std::int32_t>(place);
    default: return number_at<std::int64_t>(place);
  }
}

std::uint64_t unsigned_at(const std::byte* place, std::size_t size) {
  switch (size) {
    case 1: return number_at<std::uint8_t>(place);
    case 2: return number_at<std::uint16_t>(place);
    case 4: return number_at<std::uint32_t>(place);
    default: return number_at<std::uint64_t>(place);
  }
}

double real_at(const std::byte* place, std::size_t size) {
  return size == 2 ? half_at(place) : size == 4 ? number_at<float>(place) : number_at<double>(place);
}

std::string name_of(const Node& key) {
  if (key.is(Kind::text)) return "." + std::string(as_text(key.item.bytes));
  if (key.is(Kind::whole)) return "[" + std::to_string(key.item.whole) + "]";
  return "[a key]";
}

}  // namespace

struct ValueWriter::Inside {
  describe::Packer packer;
};

ValueWriter::ValueWriter(Rows rows, std::size_t lead) : inside_(std::make_unique<Inside>()), rows_(rows), lead_(lead) {}
ValueWriter::ValueWriter(ValueWriter&&) noexcept = default;
ValueWriter::~ValueWriter() = default;

void ValueWriter::null() { inside_->packer.null(); }
void ValueWriter::truth(bool value) { inside_->packer.truth(value); }
void ValueWriter::number(std::int64_t value) { inside_->packer.number(value); }
void ValueWriter::number(std::uint64_t value) { inside_->packer.number(value); }
void ValueWriter::number(double value) { inside_->packer.number(value); }
void ValueWriter::text(std::string_view value) { inside_->packer.text(value); }
void ValueWriter::encoded(std::span<const std::byte> value) { inside_->packer.raw(value); }
void ValueWriter::bytes(std::span<const std::byte> value) { inside_->packer.bytes(value); }
void ValueWriter::list(std::size_t size) { inside_->packer.list(size); }
void ValueWriter::map(std::size_t size) { inside_->packer.map(size); }

std::size_t ValueWriter::open_set(std::size_t size) {
  const std::size_t place = inside_->packer.open_extension(static_cast<std::int8_t>(ValueForm::set));
  list(size);
  return place;
}

void ValueWriter::close_set(std::size_t place) { inside_->packer.close_extension(place); }

void ValueWriter::array(std::string_view kind, std::span<const std::size_t> shape, std::span<const std::byte> numbers) {
  const bool has_order = !kind.ends_with('1');  // of bytes: those of one byte have none
  ArrayForm array{(has_order ? "<" : "|") + std::string(kind), {shape.begin(), shape.end()}, numbers};
  if (client::item_bytes(array.dtype) == 0) throw ValueError("an array of " + array.dtype + " cannot be sent");
  client::write_array(inside_->packer, ValueForm::array, array, lead_);
}

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

std::vector<std::byte> ValueWriter::take() { return inside_->packer.take(); }

struct ValueReader::Inside {
  Node root;
  std::vector<Part> parts;
  std::shared_ptr<const void> owner;  // of the body
};

ValueReader::ValueReader(std::span<const std::byte> body, std::vector<Part> parts)
    : inside_(std::make_unique<Inside>()) {
  inside_->root = Nodes().read(body);
  inside_->parts = std::move(parts);
}

ValueReader::ValueReader(std::span<const std::byte> body, std::shared_ptr<const void> owner) : ValueReader(body) {
  inside_->owner = std::move(owner);
}

ValueReader::ValueReader(ValueReader&&) noexcept = default;
ValueReader& ValueReader::operator=(ValueReader&&) noexcept = default;
ValueReader::~ValueReader() = default;

ValueView ValueReader::root() const { return {*this, &inside_->root, ""}; }

void ValueView::fail(const std::string& what) const {
  throw ValueError((path_.empty() ? "the value" : path_) + " " + what);
}

/// As faults of all formats name it.
std::string ValueView::found() const {
  const Node& node = node_at(node_);
  if (node.array != nullptr) return "an array of " + node.array->dtype;
  if (node.is_set()) return "a set";
  switch (node.item.kind) {
    case Kind::null: return describe::found(describe::Value());
    case Kind::truth: return describe::found(describe::Value(node.item.truth));
    case Kind::whole: return describe::found(describe::Value(node.item.whole));
    case Kind::natural: return describe::found(describe::Value(node.item.natural));
    case Kind::real: return describe::found(describe::Value(node.item.real));
    case Kind::text: return describe::found(describe::Value(as_text(node.item.bytes)));
    case Kind::bytes: return describe::found(describe::Value(Bytes()));
    case Kind::list: return describe::found(describe::Value(describe::Value::List()));
    default: return describe::found(describe::Value(describe::Value::Map()));
  }
}

const std::byte* ValueView::element(char& kind, std::size_t& size) const {
  const std::shared_ptr<const ArrayForm>& array = node_at(node_).array;
  if (array == nullptr || array->shape.size() != dimensions_) return nullptr;
  kind = array->dtype[1];
  size = client::item_bytes(array->dtype);
  return array->data.data() + offset_ * size;
}

bool ValueView::is_null() const { return node_at(node_).is(Kind::null); }

bool ValueView::truth() const {
  const Node& node = node_at(node_);
  if (node.is(Kind::truth)) return node.item.truth;
  char kind = 0;
  std::size_t size = 0;
  const std::byte* const place = element(kind, size);
  if (place != nullptr && kind == 'b') return *place != std::byte{0};
  fail("is " + found() + ", not true or false");
}

std::int64_t ValueView::signed_number() const {
  const Node& node = node_at(node_);
  if (node.is(Kind::whole)) return node.item.whole;
  char kind = 0;
  std::size_t size = 0;
  const std::byte* const place = element(kind, size);
  if (place != nullptr && kind == 'i') return signed_at(place, size);
  if (place != nullptr && kind == 'u') {
    const std::uint64_t number = unsigned_at(place, size);
    if (number <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
      return static_cast<std::int64_t>(number);
    fail("is a number that is too large");
  }
  fail("is " + found() + ", not a whole number");
}

std::uint64_t ValueView::unsigned_number() const {
  const Node& node = node_at(node_);
  if (node.is(Kind::natural)) return node.item.natural;
  if (node.is(Kind::whole) && node.item.whole >= 0) return static_cast<std::uint64_t>(node.item.whole);
  char kind = 0;
  std::size_t size = 0;
  const std::byte* const place = element(kind, size);
  if (place != nullptr && kind == 'u') return unsigned_at(place, size);
  if (place != nullptr && kind == 'i' && signed_at(place, size) >= 0)
    return static_cast<std::uint64_t>(signed_at(place, size));
  fail("is " + found() + ", not a whole number from 0");
}

double ValueView::real_number() const {
  const Node& node = node_at(node_);
  if (node.is(Kind::real)) return node.item.real;
  if (node.is(Kind::whole)) return static_cast<double>(node.item.whole);
  if (node.is(Kind::natural)) return static_cast<double>(node.item.natural);
  char kind = 0;
  std::size_t size = 0;
  const std::byte* const place = element(kind, size);
  if (place != nullptr && kind == 'f') return real_at(place, size);
  if (place != nullptr && kind == 'i') return static_cast<double>(signed_at(place, size));
  if (place != nullptr && kind == 'u') return static_cast<double>(unsigned_at(place, size));
  fail("is " + found() + ", not a number");
}

std::string_view ValueView::text() const {
  const Node& node = node_at(node_);
  if (node.is(Kind::text) || node.is(Kind::bytes)) return as_text(node.item.bytes);
  fail("is " + found() + ", not text");
}

std::size_t ValueView::size() const {
  const Node& node = node_at(node_);
  if (node.is_list()) return node.parts.size();
  if (node.is(Kind::map)) return node.parts.size() / 2;
  if (node.array != nullptr && dimensions_ < node.array->shape.size()) return node.array->shape[dimensions_];
  fail("is " + found() + ", not a list or map");
}

ValueView ValueView::at(std::size_t index) const {
  if (index >= size()) fail("has only " + std::to_string(size()) + " items");
  const Node& node = node_at(node_);
  if (node.is(Kind::map)) return {*reader_, &node.parts[2 * index + 1], path_ + name_of(node.parts[2 * index])};
  const std::string path = path_ + "[" + std::to_string(index) + "]";
  if (node.array == nullptr) return {*reader_, &node.parts[index], path};
  const std::vector<std::size_t>& shape = node.array->shape;
  ValueView part(*reader_, node_, path);
  part.dimensions_ = dimensions_ + 1;
  part.offset_ = offset_ + std::accumulate(shape.begin() + static_cast<std::ptrdiff_t>(part.dimensions_), shape.end(),
                                           index, std::multiplies<>());
  return part;
}

ValueView ValueView::key(std::size_t index) const {
  const Node& node = node_at(node_);
  if (!node.is(Kind::map)) fail("is " + found() + ", not a map");
  if (index >= node.parts.size() / 2) fail("has only " + std::to_string(node.parts.size() / 2) + " keys");
  return {*reader_, &node.parts[2 * index], path_ + " (a key of it)"};
}

std::string_view ValueView::key_at(std::size_t index) const { return key(index).text(); }

ValueView ValueView::find(std::string_view name) const {
  const Node& node = node_at(node_);
  if (!node.is(Kind::map)) fail("is " + found() + ", not a map");
  const std::string path = path_ + "." + std::string(name);
  for (std::size_t i = 0; i < node.parts.size(); i += 2) {
    const Node& key = node.parts[i];
    if (key.is(Kind::text) && as_text(key.item.bytes) == name) return {*reader_, &node.parts[i + 1], path};
  }
  return {*reader_, &nothing, path};
}

namespace {

/// Aligned, and as long as it is needed.
ValueView::Row copy_of(BytesView bytes) {
  const auto copy = std::make_shared<Bytes>(bytes.begin(), bytes.end());
  return {*copy, copy, {}};
}

}  // namespace

std::optional<ValueView::Row> ValueView::row(std::string_view kind) const {
  const Node& node = node_at(node_);
  if (node.array != nullptr) {
    const ArrayForm& array = *node.array;
    if (!is_whole_array() || std::string_view(array.dtype).substr(1) != kind) return std::nullopt;
    const bool is_aligned = reinterpret_cast<std::uintptr_t>(array.data.data()) % client::array_alignment == 0;
    const std::shared_ptr<const void>& owner = reader_->inside_->owner;
    Row row = owner != nullptr && is_aligned
                  ? Row{{const_cast<std::byte*>(array.data.data()), array.data.size()}, owner, {}}
                  : copy_of(array.data);
    row.shape = array.shape;
    return row;
  }
  if (!node.is(Kind::list) || node.parts.size() != 2 || !node.parts[0].is(Kind::text)) return std::nullopt;
  if (node.parts[1].is(Kind::text)) return std::nullopt;  // a list of texts
  const std::string_view its_kind = as_text(node.parts[0].item.bytes);
  if (its_kind != kind) fail("is an array of numbers " + std::string(its_kind) + ", not " + std::string(kind));
  const Node& value = node.parts[1];
  if (value.is(Kind::bytes)) return copy_of(value.item.bytes);
  if (!value.is(Kind::whole)) fail("is not an array of numbers");
  const std::vector<ValueReader::Part>& parts = reader_->inside_->parts;
  if (value.item.whole < 0 || static_cast<std::size_t>(value.item.whole) >= parts.size()) {
    fail("is an array of numbers that is missing");
  }
  const ValueReader::Part& part = parts[static_cast<std::size_t>(value.item.whole)];
  return Row{part.bytes, part.owner, {}};
}

}  // namespace cadre
