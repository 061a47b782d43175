/// One declaration of a struct → parse, check, document, JSON, MessagePack, JSON Schema. Safe on any thread.
///
///   template <class V> void describe(V& v, PolicyWorkerConfig& c) {
///     v.field("batch_max", c.batch_max, "Most observations in one forward pass.", range(1, 65536));
///     v.required("id", c.id, "What it is called.", not_empty());
///     v.check(c.min <= c.max, "min", "must not exceed max; lower it or raise max");
///   }
///
/// stands beside the struct, in a namespace inside cadre. kinds.h says which types a field may have, checks.h which
/// checks there are, scalar.h how a type of your own joins.
#pragma once

#include "describe/fault.h"
#include "describe/formats.h"
#include "describe/reader.h"
#include "describe/reference.h"
#include "describe/schema.h"
#include "describe/value.h"
#include "describe/writer.h"

namespace cadre::describe {

template <class T>
using Read = tl::expected<T, Faults>;

template <class T>
[[nodiscard]] Read<T> read_yaml(std::string_view text, const Bounds& bounds = {}) {
  return parse_yaml(text, bounds).and_then(read<T>);
}

template <class T>
[[nodiscard]] Read<T> read_json(std::string_view text, const Bounds& bounds = {}) {
  return parse_json(text, bounds).and_then(read<T>);
}

/// The same of what another cadre process has written: unknown keys are ignored.
template <class T>
[[nodiscard]] Read<T> read_json_of_peer(std::string_view text, const Bounds& bounds = {}) {
  return parse_json(text, bounds).and_then(read_of_peer<T>);
}

/// Only processes write MessagePack, so unknown keys are ignored here, too.
template <class T>
[[nodiscard]] Read<T> read_msgpack(BytesView bytes, const Bounds& bounds = {}) {
  return parse_msgpack(bytes, bounds).and_then(read_of_peer<T>);
}

template <class T>
[[nodiscard]] std::string write_json(const T& value, Indent indent = Indent::none) {
  return to_json(write(value), indent);
}

template <class T>
[[nodiscard]] Bytes write_msgpack(const T& value) {
  return to_msgpack(write(value));
}

}  // namespace cadre::describe
