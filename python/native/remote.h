/// Remote classes for cadre/remote.py and cadre/host.py.
#pragma once

#include <pybind11/pybind11.h>

namespace cadre::python {

void add_remote(pybind11::module_& module);

}  // namespace cadre::python
