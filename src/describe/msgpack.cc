#include "describe/formats.h"
#include "describe/msgpack_cursor.h"
#include "describe/packer.h"
#include "describe/text_checks.h"
#include "describe/tree.h"

namespace cadre::describe {
namespace {

void pack(const Value& value, Packer& to) {
  if (value.is_null()) to.null();
  if (const auto* truth = value.as<bool>()) to.truth(*truth);
  if (const auto* number = value.as<std::int64_t>()) to.number(*number);
  if (const auto* number = value.as<std::uint64_t>()) to.number(*number);
  if (const auto* number = value.as<double>()) to.number(*number);
  if (const auto* text = value.as<std::string>()) to.text(*text);
  if (const auto* bytes = value.as<Bytes>()) to.bytes(*bytes);
  if (const auto* list = value.as<Value::List>()) {
    to.list(list->size());
    for (const Value& item : *list) pack(item, to);
  }
  if (const auto* map = value.as<Value::Map>()) {
    to.map(map->size());
    for (const Entry& entry : *map) {
      to.text(entry.key);
      pack(entry.value, to);
    }
  }
}

/// Reads one value; a false return means that a fault is kept and reading ends.
class Unpacker {
 public:
  Unpacker(BytesView bytes, const Bounds& bounds) : cursor_(bytes), tree_(bounds) {}

  Parsed unpack() && {
    if (value() && !cursor_.is_at_end()) fault(cursor_.fault_here("there are extra bytes after its end; remove them"));
    return std::move(tree_).finish();
  }

 private:
  using Item = MsgpackCursor::Item;
  using Kind = MsgpackCursor::Kind;

  bool fault(const std::string& message) {
    tree_.fault("is not MessagePack: " + message, std::nullopt);
    return false;
  }

  bool add_list(std::size_t size) {
    if (!tree_.start_list({})) return false;
    for (std::size_t i = 0; i < size; ++i) {
      if (!value()) return false;
    }
    return tree_.end(), true;
  }

  bool add_map(std::size_t size) {
    if (!tree_.start_map({})) return false;
    for (std::size_t i = 0; i < size; ++i) {
      if (!key() || !value()) return false;
    }
    return tree_.end(), true;
  }

  bool key() {
    const bool is_text = cursor_.is_at_text();
    const std::optional<Item> item = cursor_.next();
    if (!item) return fault(cursor_.fault());
    if (!is_text) return fault(cursor_.fault_here("the key before it is not text; keys are str"));
    return tree_.key(std::string(as_text(item->bytes)), {}), true;
  }

  bool value() {
    const std::optional<Item> item = cursor_.next();
    if (!item) return fault(cursor_.fault());
    switch (item->kind) {
      case Kind::null: return tree_.add(Value(), {});
      case Kind::truth: return tree_.add(Value(item->truth), {});
      case Kind::whole: return tree_.add(Value(item->whole), {});
      case Kind::natural: return tree_.add(Value(item->natural), {});
      case Kind::real: return tree_.add(Value(item->real), {});
      case Kind::text: return tree_.add(Value(as_text(item->bytes)), {});
      case Kind::bytes: return tree_.add(Value(Bytes(item->bytes.begin(), item->bytes.end())), {});
      case Kind::list: return add_list(item->size);
      case Kind::map: return add_map(item->size);
      case Kind::extension: break;
    }
    return fault(cursor_.fault_here("the value before it has an ext format, which is not supported"));
  }

  MsgpackCursor cursor_;
  Tree tree_;
};

}  // namespace

Bytes to_msgpack(const Value& value) {
  Packer packer;
  pack(value, packer);
  return packer.take();
}

Parsed parse_msgpack(BytesView bytes, const Bounds& bounds) {
  if (bytes.size() > bounds.size_bytes) return tl::unexpected(Faults(too_large(bytes.size(), bounds)));
  return Unpacker(bytes, bounds).unpack();
}

}  // namespace cadre::describe
