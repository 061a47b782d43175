#include "native/values.h"

#include <cstdint>
#include <limits>

#include "describe/formats.h"
#include "describe/value.h"

namespace cadre::python {
namespace {

namespace py = pybind11;
using describe::Value;

constexpr int nested_max = 64;

Value number_of(const py::handle& value, const std::string& path) {
  int overflow = 0;
  const long long small = PyLong_AsLongLongAndOverflow(value.ptr(), &overflow);
  if (overflow == 0) return Value(static_cast<std::int64_t>(small));
  const unsigned long long large = PyLong_AsUnsignedLongLong(value.ptr());
  if (PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    throw py::value_error(path + " is a number of more than 64 bits");
  }
  return Value(static_cast<std::uint64_t>(large));
}

Value value_of(const py::handle& value, const std::string& path, int depth) {
  if (depth > nested_max) throw py::value_error(path + " is nested too deeply, or contains itself");
  if (value.is_none()) return {};
  if (py::isinstance<py::bool_>(value)) return Value(value.cast<bool>());
  if (py::isinstance<py::int_>(value)) return number_of(value, path);
  if (py::isinstance<py::float_>(value)) return Value(value.cast<double>());
  if (py::isinstance<py::str>(value)) return Value(value.cast<std::string>());
  if (py::isinstance<py::bytes>(value)) {
    const auto text = value.cast<std::string_view>();
    return Value(Bytes(as_bytes(text).begin(), as_bytes(text).end()));
  }
  if (py::isinstance<py::list>(value) || py::isinstance<py::tuple>(value)) {
    Value::List list;
    std::size_t index = 0;
    for (const py::handle& one : value) {
      list.push_back(value_of(one, path + "[" + std::to_string(index++) + "]", depth + 1));
    }
    return Value(std::move(list));
  }
  if (py::isinstance<py::dict>(value)) {
    Value map{Value::Map()};
    for (const auto& [key, one] : value.cast<py::dict>()) {
      if (!py::isinstance<py::str>(key)) throw py::type_error(path + " has a key that is no text");
      auto name = key.cast<std::string>();
      Value part = value_of(one, path + "." + name, depth + 1);
      map.set(std::move(name), std::move(part));
    }
    return map;
  }
  throw py::type_error(path + " is a " + std::string(py::str(py::type::of(value).attr("__name__"))) +
                       "; plain values can be sent: None, bool, int, float, str, bytes, list, tuple, dict");
}

py::object object_of(const Value& value) {
  if (const auto* truth = value.as<bool>()) return py::bool_(*truth);
  if (const auto* number = value.as<std::int64_t>()) return py::int_(*number);
  if (const auto* number = value.as<std::uint64_t>()) return py::int_(*number);
  if (const auto* number = value.as<double>()) return py::float_(*number);
  if (const auto* text = value.as<std::string>()) return py::str(*text);
  if (const auto* bytes = value.as<Bytes>()) return py::bytes(std::string(as_text(*bytes)));
  if (const auto* list = value.as<Value::List>()) {
    py::list made;
    for (const Value& one : *list) made.append(object_of(one));
    return made;
  }
  if (const auto* map = value.as<Value::Map>()) {
    py::dict made;
    for (const describe::Entry& entry : *map) made[py::str(entry.key)] = object_of(entry.value);
    return made;
  }
  return py::none();
}

}  // namespace

py::bytes pack(const py::handle& value) {
  const Bytes bytes = describe::to_msgpack(value_of(value, "the value", 0));
  return py::bytes(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

py::object unpack(std::string_view bytes) {
  const auto value = describe::parse_msgpack(as_bytes(bytes));
  if (!value) throw py::value_error(describe::to_error(value.error(), "the message's body").message);
  return object_of(*value);
}

}  // namespace cadre::python
