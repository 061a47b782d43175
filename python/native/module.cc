// cadre._native: what cadre/__init__.py stands on. Every call lets other Python threads run while it waits.
#include <pybind11/chrono.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <thread>

#include "cadre/core.h"
#include "client/interrupt.h"
#include "native/component.h"
#include "native/forks.h"
#include "native/lock.h"
#include "native/names.h"
#include "native/remote.h"
#include "native/search.h"
#include "native/trial.h"
#include "native/waits.h"

namespace py = pybind11;
using cadre::core::Context;
using cadre::core::Reported;
using cadre::core::Stop;
using cadre::core::Task;
using cadre::python::Unlocked;
using cadre::python::wait_of;

namespace {

double seconds_of(std::chrono::nanoseconds time) { return std::chrono::duration<double>(time).count(); }

py::dict facts_of(const Task& task) {
  py::dict facts;
  facts["task"] = task.task;
  facts["lease"] = task.lease;
  facts["epoch"] = task.epoch;
  facts["role"] = task.role;
  facts["rank"] = task.rank;
  facts["size"] = task.size;
  facts["slots"] = py::tuple(py::cast(task.slots));
  facts["master"] = task.master;
  return facts;
}

py::object stop_of(Context& context) {
  std::optional<Stop> stop;
  {
    const Unlocked waiting;
    stop = context.stop();
  }
  if (!stop) return py::none();
  return py::make_tuple(stop->why, seconds_of(stop->grace_left));
}

py::tuple report(Context& context, const std::string& text, double wait_seconds) {
  Reported reported;
  {
    const Unlocked waiting;
    reported = context.report(text, std::chrono::duration_cast<std::chrono::milliseconds>(wait_of(wait_seconds)));
  }
  static constexpr const char* outcomes[] = {"accepted", "refused", "unknown"};
  return py::make_tuple(outcomes[static_cast<int>(reported.outcome)], reported.why);
}

/// Python hears of signals on its first thread only.
bool has_signal() {
  static const std::thread::id first = std::this_thread::get_id();  // asked first when the module is imported
  if (std::this_thread::get_id() != first || Py_IsInitialized() == 0) return false;
  const PyGILState_STATE state = PyGILState_Ensure();
  const bool was_raised = PyErr_CheckSignals() != 0;
  PyGILState_Release(state);
  return was_raised;
}

}  // namespace

PYBIND11_MODULE(_native, module) {
  if (has_signal()) throw py::error_already_set();
  cadre::client::set_interrupt_check(&has_signal);
  using WithoutLock = py::call_guard<Unlocked>;
  module.def("this_task", [] { return facts_of(cadre::core::this_task()); });
  py::class_<Context>(module, "Context")
      .def(py::init<>(), WithoutLock())
      .def_property_readonly("on_cluster", &Context::on_cluster)
      .def("should_stop", &Context::should_stop, WithoutLock())
      .def("stop", &stop_of)
      .def("promise_liveness", &Context::promise_liveness, WithoutLock())
      .def("beat", &Context::beat, WithoutLock())
      .def("report", &report, py::arg("text"), py::arg("wait_seconds"));
  cadre::python::add_component(module);
  cadre::python::add_names(module);
  cadre::python::add_forks(module);
  cadre::python::add_remote(module);
  cadre::python::add_search(module);
  cadre::python::add_trial(module);
}
