/// The trial of a program, for cadre/core/.
#pragma once

#include <pybind11/pybind11.h>

namespace cadre::python {

void add_trial(pybind11::module_& module);

}  // namespace cadre::python
