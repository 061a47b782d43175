/// cadre._native.Names and what it gives. With Python's lock held.
#pragma once

#include <pybind11/pybind11.h>

namespace cadre::python {

void add_names(pybind11::module_& module);

}  // namespace cadre::python
