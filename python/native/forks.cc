// The interpreter itself forks (os.fork), so that it knows; what a process does between two forks is here.
#include "native/forks.h"

#include <pybind11/stl.h>
#include <unistd.h>

#include <memory>

#include "supervisor/forking/forked.h"

namespace cadre::python {
namespace {

namespace py = pybind11;
using supervisor::Forked;

template <class T>
T take(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

}  // namespace

void add_forks(py::module_& module) {
  py::module_ forks = module.def_submodule("forks");
  forks.def("say_ready", [](int socket) { return supervisor::forking::say_ready(socket); });
  forks.def("next", [](int socket) {
    const py::gil_scoped_release waiting;
    return supervisor::forking::next(socket).release();
  });
  forks.def("refuse", [](int line, const std::string& why) { supervisor::forking::refuse(line, why); });
  py::class_<Forked>(forks, "Forked")
      .def(py::init(
          [](int line) { return std::make_unique<Forked>(take(Forked::receive(supervisor::Descriptor(line)))); }))
      .def("separate", [](Forked& forked) { take(forked.separate()); })
      .def("be_init", [](Forked& forked) { forked.be_init(); })
      .def("tell_endings", [](Forked& forked, int init, int task) { forked.tell_endings(init, task); })
      .def("become", [](Forked& forked) { return take(forked.become()); })
      .def("refuse", [](Forked& forked, const std::string& why) {
        forked.refuse({Errc::unavailable, why});
      });
}

}  // namespace cadre::python
