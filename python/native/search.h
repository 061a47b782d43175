/// Searches and custom searches, for cadre/search/.
#pragma once

#include <pybind11/pybind11.h>

namespace cadre::python {

void add_search(pybind11::module_& module);

}  // namespace cadre::python
