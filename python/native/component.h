/// cadre._native.Component and Message. With Python's lock held.
#pragma once

#include <pybind11/pybind11.h>

namespace cadre::python {

void add_component(pybind11::module_& module);

}  // namespace cadre::python
