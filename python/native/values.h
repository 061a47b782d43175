/// Plain Python values as MessagePack and back. With Python's lock held.
#pragma once

#include <pybind11/pybind11.h>

#include <string>
#include <string_view>

namespace cadre::python {

/// None, bool, int, float, str, bytes, lists, tuples and dicts with keys of text. Raises TypeError for anything else,
/// and says where it stands.
pybind11::bytes pack(const pybind11::handle& value);

/// Raises ValueError when it is no MessagePack.
pybind11::object unpack(std::string_view bytes);

}  // namespace cadre::python
