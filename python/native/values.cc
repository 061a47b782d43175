#include "native/values.h"

#include <pybind11/numpy.h>

#include <complex>
#include <cstdint>
#include <cstring>
#include <optional>

#include "client/components/value_forms.h"
#include "describe/msgpack_cursor.h"
#include "describe/packer.h"

namespace cadre::python {
namespace {

namespace py = pybind11;
using client::ArrayForm;
using client::ValueForm;
using describe::MsgpackCursor;
using Kind = MsgpackCursor::Kind;

constexpr std::size_t nested_max = 64;
constexpr std::size_t values_max = 10'000'000;  // in one value; arrays count as one
constexpr std::size_t looked_at_from = 4'096;   // bytes of an array that is not copied
constexpr const char* too_many = " has more than 10000000 values in it; send numbers as a numpy array";

/// Where a value stands in another, for people; told only when something is wrong.
struct Place {
  const Place* outer;
  const char* name;   // of the outermost
  py::handle key;     // in a dict
  std::size_t index;  // in a list

  std::string text() const {
    if (outer == nullptr) return name;
    if (!key) return outer->text() + "[" + std::to_string(index) + "]";
    if (py::isinstance<py::str>(key)) return outer->text() + "." + key.cast<std::string>();
    return outer->text() + "[" + std::string(py::repr(key)) + "]";
  }
};

/// The types of numpy, if a program has imported it: before that nothing can be one of them.
struct Numpy {
  py::handle array;
  py::handle scalar;
  py::handle boolean, integer, floating;
};

const Numpy* loaded_numpy() {
  static Numpy types;  // they stay as long as the interpreter does
  if (types.array) return &types;
  PyObject* const module = PyDict_GetItemString(PyImport_GetModuleDict(), "numpy");
  if (module == nullptr || PyObject_HasAttrString(module, "ndarray") == 0) return nullptr;
  const auto get = [module](const char* name) { return py::handle(module).attr(name).cast<py::object>().release(); };
  types = {nullptr, get("generic"), get("bool_"), get("integer"), get("floating")};
  types.array = get("ndarray");
  return &types;
}

class Writer {
 public:
  explicit Writer(std::size_t lead) : lead_(lead) {}

  void write(const py::handle& value, const Place& place, std::size_t depth) {
    if (depth > nested_max) throw py::value_error(place.text() + " is nested too deeply, or contains itself");
    if (++count_ > values_max) throw py::value_error(outermost(place) + too_many);
    if (value.is_none()) return packer_.null();
    if (PyBool_Check(value.ptr())) return packer_.truth(value.ptr() == Py_True);
    if (PyLong_Check(value.ptr())) return write_number(value, place);
    if (PyFloat_Check(value.ptr())) return packer_.number(PyFloat_AS_DOUBLE(value.ptr()));
    if (PyUnicode_Check(value.ptr())) return write_text(value, place);
    if (PyBytes_Check(value.ptr())) return packer_.bytes(as_bytes(value.cast<std::string_view>()));
    if (PyList_Check(value.ptr()) || PyTuple_Check(value.ptr())) return write_list(value, place, depth);
    if (PyDict_Check(value.ptr())) return write_dict(value, place, depth);
    if (PyAnySet_Check(value.ptr())) {
      const std::size_t at = packer_.open_extension(static_cast<std::int8_t>(ValueForm::set));
      write_list(value, place, depth);
      return packer_.close_extension(at);
    }
    if (PyByteArray_Check(value.ptr()) || PyMemoryView_Check(value.ptr())) {
      const auto copy = py::reinterpret_steal<py::bytes>(PyBytes_FromObject(value.ptr()));
      if (!copy) throw py::error_already_set();
      return packer_.bytes(as_bytes(std::string_view(copy)));
    }
    write_other(value, place);
  }

  Bytes take() { return packer_.take(); }

 private:
  static std::string outermost(const Place& place) {
    const Place* at = &place;
    while (at->outer != nullptr) at = at->outer;
    return at->text();
  }

  void write_number(const py::handle& value, const Place& place) {
    int overflow = 0;
    const long long small = PyLong_AsLongLongAndOverflow(value.ptr(), &overflow);
    if (overflow == 0) return packer_.number(static_cast<std::int64_t>(small));
    const unsigned long long large = PyLong_AsUnsignedLongLong(value.ptr());
    if (PyErr_Occurred() != nullptr) {
      PyErr_Clear();
      throw py::value_error(place.text() + " is a number of more than 64 bits");
    }
    packer_.number(static_cast<std::uint64_t>(large));
  }

  void write_text(const py::handle& value, const Place& place) {
    Py_ssize_t size = 0;
    const char* const text = PyUnicode_AsUTF8AndSize(value.ptr(), &size);
    if (text == nullptr) {
      PyErr_Clear();
      throw py::value_error(place.text() + " is text that is not Unicode; send it as bytes");
    }
    packer_.text({text, static_cast<std::size_t>(size)});
  }

  void write_list(const py::handle& value, const Place& place, std::size_t depth) {
    packer_.list(py::len(value));
    Place inner{&place, nullptr, {}, 0};
    for (const py::handle& one : value) {
      write(one, inner, depth + 1);
      ++inner.index;
    }
  }

  void write_dict(const py::handle& value, const Place& place, std::size_t depth) {
    packer_.map(static_cast<std::size_t>(PyDict_Size(value.ptr())));
    for (const auto& [key, one] : py::reinterpret_borrow<py::dict>(value)) {
      const Place inner{&place, nullptr, key, 0};
      write(key, inner, depth + 1);
      write(one, inner, depth + 1);
    }
  }

  void write_other(const py::handle& value, const Place& place) {
    const Numpy* const numpy = loaded_numpy();
    if (numpy != nullptr && py::isinstance(value, numpy->array)) return write_array(value, ValueForm::array, place);
    if (numpy != nullptr && py::isinstance(value, numpy->scalar)) {
      if (py::isinstance(value, numpy->boolean)) return packer_.truth(PyObject_IsTrue(value.ptr()) == 1);
      if (py::isinstance(value, numpy->integer)) return write_number(value.attr("item")(), place);
      if (py::isinstance(value, numpy->floating) && value.attr("itemsize").cast<int>() <= 8) {
        return packer_.number(value.attr("__float__")().cast<double>());
      }
      return write_array(value.attr("reshape")(py::tuple()), ValueForm::scalar, place);
    }
    if (PyComplex_Check(value.ptr())) {
      const std::complex<double> number(PyComplex_RealAsDouble(value.ptr()), PyComplex_ImagAsDouble(value.ptr()));
      const auto bytes = std::as_bytes(std::span(&number, 1));
      return client::write_array(packer_, ValueForm::scalar, {"<c16", {}, bytes}, lead_);
    }
    throw py::type_error(place.text() + " is a " + std::string(py::str(py::type::of(value).attr("__name__"))) +
                         "; values that can be sent: None, bool, int, float, complex, str, bytes, list, tuple, dict, "
                         "set, numpy arrays and scalars");
  }

  void write_array(const py::handle& value, ValueForm form, const Place& place) {
    py::object array = py::reinterpret_borrow<py::object>(value);
    const auto kind = array.attr("dtype").attr("kind").cast<std::string>();
    const std::string is = place.text() + " is a numpy array of ";
    if (kind == "O") throw py::type_error(is + "objects, which cannot be sent; send a list");
    if (kind == "V") throw py::type_error(is + "records, which cannot be sent; send a dict of arrays");
    if (array.attr("dtype").attr("str").cast<std::string>().front() == '>') {
      array = array.attr("astype")(array.attr("dtype").attr("newbyteorder")("<"));
    }
    const auto dtype = array.attr("dtype").attr("str").cast<std::string>();
    if (client::item_bytes(dtype) == 0) {
      throw py::type_error(is + std::string(py::str(array.attr("dtype"))) + ", which cannot be sent; convert it first");
    }
    const auto flat = py::array::ensure(array, py::array::c_style);
    if (!flat) throw py::error_already_set();
    ArrayForm made{dtype, {}, {static_cast<const std::byte*>(flat.data()), static_cast<std::size_t>(flat.nbytes())}};
    const py::tuple shape = array.attr("shape");
    for (const py::handle& size : shape) made.shape.push_back(size.cast<std::size_t>());
    client::write_array(packer_, form, made, lead_);
  }

  describe::Packer packer_;
  std::size_t lead_;
  std::size_t count_ = 0;
};

/// Whether something is to be the key of a dict or an item of a set: then lists become tuples, and sets frozen ones.
enum class As : std::uint8_t { value, hashable };

class Reader {
 public:
  Reader(std::span<const std::byte> bytes, const std::shared_ptr<const void>& owner) : cursor_(bytes), owner_(owner) {}

  py::object read() {
    py::object value = next(cursor_, 0, As::value);
    if (!cursor_.is_at_end()) fail("is not MessagePack: " + cursor_.fault_here("there are extra bytes after its end"));
    return value;
  }

 private:
  [[noreturn]] static void fail(const std::string& why) { throw py::value_error("the message's body " + why); }

  py::object next(MsgpackCursor& cursor, std::size_t depth, As as) {
    const auto item = cursor.next();
    if (!item) fail("is not MessagePack: " + cursor.fault());
    if (depth > nested_max) fail("is nested too deeply");
    if (++count_ > values_max) fail(too_many + 1);
    switch (item->kind) {
      case Kind::null: return py::none();
      case Kind::truth: return py::bool_(item->truth);
      case Kind::whole: return py::int_(item->whole);
      case Kind::natural: return py::int_(item->natural);
      case Kind::real: return py::float_(item->real);
      case Kind::text: return py::str(as_text(item->bytes).data(), item->bytes.size());
      case Kind::bytes: return py::bytes(as_text(item->bytes).data(), item->bytes.size());
      case Kind::list: return list(cursor, item->size, depth, as);
      case Kind::map: return map(cursor, item->size, depth);
      case Kind::extension: break;
    }
    return extension(*item, depth, as);
  }

  py::object list(MsgpackCursor& cursor, std::size_t size, std::size_t depth, As as) {
    py::list made;
    for (std::size_t i = 0; i < size; ++i) made.append(next(cursor, depth + 1, as));
    if (as == As::hashable) return py::tuple(made);
    return made;
  }

  py::object map(MsgpackCursor& cursor, std::size_t size, std::size_t depth) {
    py::dict made;
    for (std::size_t i = 0; i < size; ++i) {
      const py::object key = next(cursor, depth + 1, As::hashable);
      py::object value = next(cursor, depth + 1, As::value);
      if (PyDict_SetItem(made.ptr(), key.ptr(), value.ptr()) != 0) {
        PyErr_Clear();
        fail("has a key that is not hashable in Python: " + std::string(py::repr(key)));
      }
    }
    if (made.size() != size) fail("has a duplicate key");
    return made;
  }

  py::object extension(const MsgpackCursor::Item& item, std::size_t depth, As as) {
    switch (static_cast<ValueForm>(item.type)) {
      case ValueForm::array:
      case ValueForm::scalar: return array(item);
      case ValueForm::set: {
        MsgpackCursor inner(item.bytes);
        const py::object items = next(inner, depth + 1, As::hashable);
        if (!inner.is_at_end() || !py::isinstance<py::tuple>(items)) fail("contains a malformed set");
        PyObject* const made = as == As::hashable ? PyFrozenSet_New(items.ptr()) : PySet_New(items.ptr());
        if (made == nullptr) {
          PyErr_Clear();
          fail("has a set with an item that is not hashable in Python");
        }
        return py::reinterpret_steal<py::object>(made);
      }
    }
    fail("has an extension of type " + std::to_string(item.type) + ", which is not known");
  }

  py::object array(const MsgpackCursor::Item& item) {
    const Result<ArrayForm> found = client::read_array(item.bytes);
    if (!found) fail(found.error().message);
    const bool is_scalar = item.type == static_cast<std::int8_t>(ValueForm::scalar);
    if (is_scalar && found->dtype == "<c16" && found->data.size() == sizeof(std::complex<double>)) {
      std::complex<double> number;
      std::memcpy(&number, found->data.data(), sizeof number);
      return py::reinterpret_steal<py::object>(PyComplex_FromDoubles(number.real(), number.imag()));
    }
    try {
      const py::dtype dtype(found->dtype);
      const std::vector<py::ssize_t> shape(found->shape.begin(), found->shape.end());
      const bool is_aligned = reinterpret_cast<std::uintptr_t>(found->data.data()) % client::array_alignment == 0;
      py::object base;  // without one it is copied
      if (owner_ != nullptr && is_aligned && found->data.size() >= looked_at_from) {
        base = py::capsule(new std::shared_ptr<const void>(owner_),
                           [](void* held) { delete static_cast<std::shared_ptr<const void>*>(held); });
      }
      py::object made = py::array(dtype, shape, std::vector<py::ssize_t>(), found->data.data(), base);
      if (is_scalar) made = made[py::tuple()];
      return made;
    } catch (const py::error_already_set& error) {
      if (error.matches(PyExc_ImportError)) fail("contains a numpy array, but numpy is not installed");
      fail(std::string("contains a numpy array that cannot be created: ") + error.what());
    }
  }

  MsgpackCursor cursor_;
  std::shared_ptr<const void> owner_;
  std::size_t count_ = 0;
};

}  // namespace

std::vector<std::byte> pack(const py::handle& value, const char* name, std::size_t lead) {
  Writer writer(lead);
  writer.write(value, Place{nullptr, name, {}, 0}, 0);
  return writer.take();
}

py::object unpack(std::span<const std::byte> bytes, const std::shared_ptr<const void>& owner) {
  return Reader(bytes, owner).read();
}

}  // namespace cadre::python
