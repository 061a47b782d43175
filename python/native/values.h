/// Python values as MessagePack and back. With Python's lock held.
#pragma once

#include <pybind11/pybind11.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace cadre::python {

/// None, bool, int, float, complex, str, bytes, lists, tuples, dicts, sets, numpy arrays and numpy scalars. Raises
/// TypeError for anything else, and says where it stands; `name` is what the value is called there. `lead`: see
/// cadre::packed.
std::vector<std::byte> pack(const pybind11::handle& value, const char* name, std::size_t lead);

/// Raises ValueError when it is no MessagePack. Large arrays look at the bytes where they are, which the owner keeps
/// alive; without one they are copied.
pybind11::object unpack(std::span<const std::byte> bytes, const std::shared_ptr<const void>& owner);

}  // namespace cadre::python
