/// Processes that are forked from a template, for cadre/templates.py.
#pragma once

#include <pybind11/pybind11.h>

namespace cadre::python {

void add_forks(pybind11::module_& module);

}  // namespace cadre::python
